/* The frameworks, for the table of framework.c. */
#ifndef TONY_FRAMEWORK_IMPLEMENTATIONS_H
#define TONY_FRAMEWORK_IMPLEMENTATIONS_H

#include "framework/framework.h"

extern const struct framework_ops framework_tensorflow;
extern const struct framework_ops framework_pytorch;
extern const struct framework_ops framework_torchrun;
extern const struct framework_ops framework_horovod;
extern const struct framework_ops framework_mxnet;
extern const struct framework_ops framework_xgboost;
extern const struct framework_ops framework_lightgbm;
extern const struct framework_ops framework_jax;
extern const struct framework_ops framework_mpi;
extern const struct framework_ops framework_ray;
extern const struct framework_ops framework_dask;
extern const struct framework_ops framework_standalone;
extern const struct framework_ops framework_generic;

#endif
