/* nets.c: architectures that are texts of layers: your own after "net:", and known ones by name. */
#include "zoo/zoo.h"

#include <stdio.h>
#include <string.h>

/* Images without channels, [B, H, W], get one; tokens, [B, K, L], none. */
static wick_tensor *build(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs) {
    const char *first = network->net + strspn(network->net, " \t\n");
    if (wick_tensor_rank(x) == 3 && strncmp(first, "embed ", 6) != 0) x = wick_unsqueeze(x, 1);
    return wick_net(model, network->net, x, outputs);
}

/* Samples that are numbers in a row are sequences of the channels that were asked for. */
static wick_tensor *build_sequence(const wick_network *network, wick_model *model, wick_tensor *x, int64_t outputs) {
    char first[40];
    snprintf(first, sizeof first, "sequence %lld", network->n_widths ? (long long)network->widths[0] : 1LL);
    if (wick_tensor_rank(x) == 2) x = wick_net(model, first, x, outputs);
    if (wick_tensor_error(x, NULL) != WICK_OK) return x;
    return wick_tensor_rank(x) == 3 && !network->n_widths ? build(network, model, x, outputs)
                                                          : wick_net(model, network->net, x, outputs);
}

#define DEPTHWISE(stride, channels) "dwconv 3 same nobias" stride ", bn, relu, conv " channels " 1 nobias, bn, relu, "
#define BLOCK(channels, stride)                                                                                        \
    "residual(conv " channels " 3 same nobias" stride ", bn, relu, conv " channels " 3 same nobias, bn), relu, "

#define TWICE(channels)      "conv " channels " 3 same nobias, bn, relu, conv " channels " 3 same nobias, bn, relu, "
#define DOWN(channels, name) TWICE(channels) "save " name ", maxpool 2, "
#define UP(channels, name)   "upsample " name ", concat " name ", " TWICE(channels)

/* He et al. 2016, table 1, as torchvision.models.resnet18 */
#define BASIC(channels, stride)                                                                                        \
    "residual(conv " channels " 3 pad 1 nobias" stride ", bn, relu, conv " channels " 3 pad 1 nobias, bn), relu, "
/* Sandler et al. 2018, table 2, as torchvision.models.mobilenet_v2: up by six, depthwise, down */
#define DOWN_TO(wide, stride, channels)                                                                                \
    "conv " wide " 1 nobias, bn, relu6, dwconv 3 pad 1 nobias" stride ", bn, relu6, conv " channels " 1 nobias, bn"
#define ADDED(wide, channels) "residual(" DOWN_TO(wide, "", channels) "), "
/* Bai et al. 2018, with batch norm for weight norm */
#define DILATED(n)                                                                                                     \
    "residual(conv 64 3 causal dilation " n " nobias, bn, relu, dropout 0.1, conv 64 3 causal dilation " n             \
    " nobias, bn, relu), relu, "

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
    {.name = "resnet18",
     .form = "resnet18",
     .doc = "He et al. 2016, ResNet of 18 layers for pictures of 224 x 224; 11,689,512 parameters for 1000 classes",
     .defaults = {.net = "conv 64 7 stride 2 pad 3 nobias, bn, relu, maxpool 3 stride 2 pad 1, " BASIC("64", "")
                      BASIC("64", "") BASIC("128", " stride 2") BASIC("128", "") BASIC("256", " stride 2")
                          BASIC("256", "") BASIC("512", " stride 2") BASIC("512", "") "globalpool, linear classes"},
     .build = build},
    {.name = "mobilenetv2",
     .form = "mobilenetv2",
     .doc = "Sandler et al. 2018, MobileNetV2 at full width; 3,504,872 parameters for 1000 classes",
     .defaults =
         {.net =
              "conv 32 3 stride 2 pad 1 nobias, bn, relu6, "
              "dwconv 3 pad 1 nobias, bn, relu6, conv 16 1 nobias, bn, " DOWN_TO("96", " stride 2", "24") ", " ADDED(
                  "144", "24") DOWN_TO("144", " stride 2", "32") ", " ADDED("192", "32") ADDED("192", "32")
                  DOWN_TO("192", " stride 2", "64") ", " ADDED("384", "64") ADDED("384", "64") ADDED("384", "64")
                      DOWN_TO("384", "", "96") ", " ADDED("576", "96") ADDED("576", "96")
                          DOWN_TO("576", " stride 2", "160") ", " ADDED("960", "160") ADDED("960", "160")
                              DOWN_TO("960", "",
                                      "320") ", "
                                             "conv 1280 1 nobias, bn, relu6, globalpool, dropout 0.2, linear classes"},
     .build = build},
    {.name = "tcn",
     .form = "tcn[:CHANNELS]",
     .doc = "Bai et al. 2018, dilated causal convolutions of 64 channels for series, recordings and texts; CHANNELS: "
            "how many a series of numbers in a row has, one after another",
     .defaults = {.net = "sequence, " DILATED("1") DILATED("2") DILATED("4")
                      DILATED("8") "globalpool, dropout 0.1, linear classes"},
     .build = build_sequence},
    {.name = "transformer",
     .form = "transformer[:CHANNELS]",
     .doc = "Vaswani et al. 2017, two layers of an encoder with 4 heads, 64 channels wide, for the same data",
     .defaults = {.net = "sequence, conv 64 1, positions, encoder 4 0.1, encoder 4 0.1, globalpool, layernorm, dropout "
                         "0.1, linear classes"},
     .build = build_sequence},
};
