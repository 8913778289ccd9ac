/* wick/wick.h: all of Wick. What is where:
 *
 *   context types memory   threads, memory and what it is for, errors; dtypes and statuses
 *   tensor ops             handles, scopes, what is recorded. ops.h brings the families: elementwise, pointwise, shape,
 *                          reduce, index, sort, loss, image, linalg, signal, sequence, attention, control, quantize ...
 *   plan dynamic           compiled functions, those of many shapes; kernel.h makes one of a formula, custom.h an op
 *   nn transformer optim   models and layers, optimizers; zoo.h has networks by name, metrics.h what judges them
 *   session onnx codegen   a model by names, ONNX in and out, models as C
 *   compress               fewer bits, fewer channels
 *   loader transform       batches and what happens to samples. dataset.h is the interface of a data set, datasets.h
 *                          makes them of others and of files, data.h has pictures and recordings, records.h the record
 *                          file, files.h labelled files to pack, remote.h gets files over HTTP and from S3
 *   io weights compare     checkpoints of a model; tensors in files of any kind; two of them compared
 *   profile monitor events where the time of runs goes, as tables, timelines and flame graphs; how steps go, for
 *                          collectors of metrics; curves for TensorBoard; batch_size finds
 *                          how large batches should be
 *   dist                   ranks that train one model together
 *   registry tuning kinds  lists of ops and passes; measured speeds; kinds of files */
#ifndef WICK_WICK_H
#define WICK_WICK_H

#include "wick/attention.h"
#include "wick/batch_size.h"
#include "wick/codegen.h"
#include "wick/compare.h"
#include "wick/compress.h"
#include "wick/context.h"
#include "wick/control.h"
#include "wick/custom.h"
#include "wick/data.h"
#include "wick/dataset.h"
#include "wick/datasets.h"
#include "wick/dist.h"
#include "wick/distance.h"
#include "wick/dynamic.h"
#include "wick/events.h"
#include "wick/files.h"
#include "wick/image.h"
#include "wick/index.h"
#include "wick/io.h"
#include "wick/kernel.h"
#include "wick/kinds.h"
#include "wick/linalg.h"
#include "wick/loader.h"
#include "wick/loss.h"
#include "wick/memory.h"
#include "wick/metrics.h"
#include "wick/monitor.h"
#include "wick/nn.h"
#include "wick/onnx.h"
#include "wick/ops.h"
#include "wick/optim.h"
#include "wick/plan.h"
#include "wick/profile.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"
#include "wick/records.h"
#include "wick/reduce.h"
#include "wick/registry.h"
#include "wick/remote.h"
#include "wick/sequence.h"
#include "wick/session.h"
#include "wick/shape.h"
#include "wick/signal.h"
#include "wick/sort.h"
#include "wick/tensor.h"
#include "wick/transform.h"
#include "wick/transformer.h"
#include "wick/trees.h"
#include "wick/tuning.h"
#include "wick/types.h"
#include "wick/weights.h"
#include "wick/zoo.h"

#endif
