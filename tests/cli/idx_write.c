/* idx_write.c: makes a small data set that a network can learn: idx_write DIR TRAIN TEST [SIDE [CHANNELS]]. Each of ten
 * classes is a bright square at a place of its own, under noise; the files are those of MNIST, plain. IDX:
 * http://yann.lecun.com/exdb/mnist */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 0x9E3779B97F4A7C15u;
static unsigned noise(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 40);
}

static void number(FILE *f, unsigned value) {
    for (int shift = 24; shift >= 0; shift -= 8) fputc((int)(value >> shift & 255), f);
}

static FILE *create(const char *folder, const char *split, const char *what) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%s-ubyte", folder, split, what);
    FILE *f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static void write_split(const char *folder, const char *split, unsigned count, unsigned side, unsigned channels) {
    FILE *images = create(folder, split, channels ? "images-idx4" : "images-idx3"),
         *labels = create(folder, split, "labels-idx1");
    number(images, channels ? 0x804 : 0x803);
    number(images, count);
    if (channels) number(images, channels);
    number(images, side);
    number(images, side);
    number(labels, 0x801);
    number(labels, count);
    for (unsigned i = 0; i < count; i++) {
        unsigned k = i < 10 ? i : noise() % 10, x0 = k % 5 * side / 5, y0 = k / 5 * side / 2;
        fputc((int)k, labels);
        for (unsigned row = 0; row < (channels ? channels : 1) * side; row++)
            for (unsigned x = 0; x < side; x++) {
                const unsigned y = row % side;
                int lit = x >= x0 && x < x0 + side / 5 && y >= y0 && y < y0 + side / 2;
                fputc((int)((lit ? 110u : 0u) + noise() % 146u), images);
            }
    }
    if (fclose(images) || fclose(labels)) exit(1);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    unsigned side = argc > 4 ? (unsigned)atoi(argv[4]) : 10, channels = argc > 5 ? (unsigned)atoi(argv[5]) : 0;
    write_split(argv[1], "train", (unsigned)atoi(argv[2]), side, channels);
    write_split(argv[1], "t10k", (unsigned)atoi(argv[3]), side, channels);
    return 0;
}
