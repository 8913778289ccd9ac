/* wick/wick.h: all of Wick. */
#ifndef WICK_WICK_H
#define WICK_WICK_H

#include "wick/attention.h"
#include "wick/compare.h"
#include "wick/context.h"
#include "wick/control.h"
#include "wick/data.h"
#include "wick/distance.h"
#include "wick/image.h"
#include "wick/index.h"
#include "wick/io.h"
#include "wick/linalg.h"
#include "wick/loss.h"
#include "wick/metrics.h"
#include "wick/nn.h"
#include "wick/onnx.h"
#include "wick/ops.h"
#include "wick/optim.h"
#include "wick/plan.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/registry.h"
#include "wick/sequence.h"
#include "wick/shape.h"
#include "wick/signal.h"
#include "wick/sort.h"
#include "wick/tensor.h"
#include "wick/transformer.h"
#include "wick/types.h"
#include "wick/zoo.h"

#endif
