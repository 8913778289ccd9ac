#include "augment.h"

#include <string.h>

static bool read_crop(const char *digits, size_t length, int64_t *crop) {
    *crop = 0;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9' || *crop > 99999) return false;
        *crop = *crop * 10 + (digits[i] - '0');
    }
    return *crop > 0;
}

bool augment_read(const char *text, wick_loader_options *o) {
    static const char crop[] = "crop=";
    o->flip = false;
    o->crop = 0;
    if (strcmp(text, "none") == 0) return true;
    for (;;) {
        const size_t length = strcspn(text, ","), prefix = sizeof crop - 1;
        if (length == 4 && memcmp(text, "flip", 4) == 0 && !o->flip) o->flip = true;
        else if (o->crop || length < prefix || memcmp(text, crop, prefix) != 0 ||
                 !read_crop(text + prefix, length - prefix, &o->crop))
            return false;
        if (!text[length]) return true;
        text += length + 1;
    }
}
