/* nets.c: architectures that are texts of layers: your own after "net:", and known ones by name. */
#include "zoo/zoo.h"

#include <string.h>

/* Images without channels, [B, H, W], get one; tokens, [B, K, L], none. */
static wick_tensor *build(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs) {
    const char *first = network->net + strspn(network->net, " \t\n");
    if (wick_tensor_rank(x) == 3 && strncmp(first, "embed ", 6) != 0) x = wick_unsqueeze(x, 1);
    return wick_net(model, network->net, x, outputs);
}

#define DEPTHWISE(stride, channels) "dwconv 3 same nobias" stride ", bn, relu, conv " channels " 1 nobias, bn, relu, "
#define BLOCK(channels, stride) \
    "residual(conv " channels " 3 same nobias" stride ", bn, relu, conv " channels " 3 same nobias, bn), relu, "

#define TWICE(channels) "conv " channels " 3 same nobias, bn, relu, conv " channels " 3 same nobias, bn, relu, "
#define DOWN(channels, name) TWICE(channels) "save " name ", maxpool 2, "
#define UP(channels, name) "upsample " name ", concat " name ", " TWICE(channels)

const wick_architecture wick_zoo_net = {
    .name = "net", .form = "net:LAYER, ...", .doc = "layers as text, see wick help net", .build = build};
const wick_architecture wick_zoo_nets[] = {
    {.name = "lenet",
     .form = "lenet",
     .doc = "LeCun et al. 1998, LeNet-5 with ReLU and max pooling",
     .defaults = {.net = "conv 6 5 pad 2, relu, maxpool 2, conv 16 5, relu, maxpool 2, flatten, linear 120, relu, "
                         "linear 84, relu, linear classes"},
     .build = build},
    {.name = "cnn",
     .form = "cnn",
     .doc = "three convolutions with batch norm, two of them pooled; 2.3 M multiply-adds for 28x28",
     .defaults =
         {.net =
              "conv 16 3 same nobias, bn, relu, maxpool 2, conv 32 3 same nobias, bn, relu, maxpool 2, "
              "conv 64 3 same nobias, bn, relu, flatten, dropout 0.3, linear 128, relu, dropout 0.3, linear classes"},
     .build = build},
    {.name = "resnet8",
     .form = "resnet8",
     .doc = "He et al. 2016, with three blocks of 16, 32 and 64 channels (the one of MLPerf Tiny)",
     .defaults = {.net = "conv 16 3 same nobias, bn, relu, " BLOCK("16", "") BLOCK("32", " stride 2")
                      BLOCK("64", " stride 2") "globalpool, linear classes"},
     .build = build},
    {.name = "dscnn",
     .form = "dscnn",
     .doc = "Zhang et al. 2017, depthwise separable, four blocks of 64 channels",
     .defaults = {.net = "conv 64 3 same stride 2 nobias, bn, relu, " DEPTHWISE("", "64") DEPTHWISE("", "64")
                      DEPTHWISE("", "64") DEPTHWISE("", "64") "dropout 0.2, globalpool, linear classes"},
     .build = build},
    {.name = "mobilenet",
     .form = "mobilenet",
     .doc = "Howard et al. 2017, MobileNet at a quarter of the width",
     .defaults = {.net = "conv 8 3 same stride 2 nobias, bn, relu, " DEPTHWISE("", "16") DEPTHWISE(" stride 2", "32")
                      DEPTHWISE("", "32") DEPTHWISE(" stride 2", "64") DEPTHWISE("", "64") DEPTHWISE(" stride 2", "128")
                          DEPTHWISE("", "128") DEPTHWISE("", "128") DEPTHWISE("", "128") DEPTHWISE("", "128")
                              DEPTHWISE("", "128") DEPTHWISE(" stride 2", "256")
                                  DEPTHWISE("", "256") "globalpool, linear classes"},
     .build = build},
    {.name = "unet",
     .form = "unet",
     .doc = "Ronneberger et al. 2015, U-Net of 8 to 64 channels with batch norm, for pictures of any size: a class "
            "for each pixel",
     .defaults = {.net = DOWN("8", "a") DOWN("16", "b") DOWN("32", "c") TWICE("64") UP("32", "c") UP("16", "b")
                      UP("8", "a") "conv classes 1"},
     .build = build},
};
