#!/usr/bin/env python3
"""Asks the driver for a GPU, and prints one JSON object: {"name", "compute", "memory", "driver"}, or {"why"} where none works.

A program of its own, so that a driver that hangs or crashes takes nothing else along.
"""

import ctypes
import json

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_...


def ask():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"why": f"no driver: {error}"}
    if code := driver.cuInit(0):
        return {"why": f"cuInit gives {code}"}
    count, gpu, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if (code := driver.cuDeviceGetCount(ctypes.byref(count))) or count.value == 0:
        return {"why": f"the driver shows {count.value} GPUs (code {code})"}
    if code := driver.cuDeviceGet(ctypes.byref(gpu), 0):
        return {"why": f"cuDeviceGet gives {code}"}
    name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
    driver.cuDeviceGetName(name, len(name), gpu)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), gpu)
    compute = []
    for attribute in (MAJOR, MINOR):
        driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, gpu)
        compute.append(number.value)
    driver.cuDriverGetVersion(ctypes.byref(number))
    return {"name": name.value.decode(errors="replace"), "compute": f"{compute[0]}{compute[1]}", "memory": memory.value,
            "driver": f"for CUDA {number.value // 1000}.{number.value % 1000 // 10}"}


print(json.dumps(ask()))
