#!/usr/bin/env python3
"""Checks loads in the machine code of CUDA kernels (sass_loads.py). Usage: sass_loads_test.py [CUOBJDUMP PLUGIN...]

Reads the first plugin that exists. Without cuobjdump or a plugin, tests only the counting itself and exits with 77 if
that passes.
"""
import os
import subprocess
import sys
import unittest

from sass_loads import kernels_of

CUOBJDUMP = sys.argv[1] if len(sys.argv) > 1 else None
PLUGIN = next((path for path in sys.argv[2:] if os.path.exists(path)), None)
SKIPPED = 77

SAMPLE = """
        Function : _Zsample
        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;   /* 0x0 */
        /*0010*/              @!P0 LDG.E R8, desc[UR4][R2.64+0x10] ;
        /*0020*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0030*/                   LDG.E.64 R10, desc[UR4][R2.64+0x18] ;
        /*0040*/                   FADD R12, R4, R8 ;
        /*0050*/                   STL [R1], R12 ;
        /*0060*/                   LDG.E R13, desc[UR4][R10.64] ;
"""


class SassLoadsTest(unittest.TestCase):
    def test_loads_count_until_one_of_them_is_read(self):
        kernel, = kernels_of(SAMPLE.splitlines())
        self.assertEqual((kernel.name, kernel.loads, kernel.wide), ("_Zsample", 4, 1))
        self.assertEqual((kernel.ahead, kernel.first), (28, 20))
        self.assertEqual((kernel.local, kernel.barriers), (1, 1))

    @unittest.skipIf(PLUGIN is None, "there is no cuobjdump, or no plugin")
    def test_a_token_waits_for_memory_once(self):
        sass = subprocess.run([CUOBJDUMP, "-sass", PLUGIN], capture_output=True, text=True, check=True)
        kernels = kernels_of(sass.stdout.splitlines())
        of_weights = [k for k in kernels if "gemv_kernel" in k.name]
        self.assertGreater(len(of_weights), 30)
        for kernel in of_weights:  # minimum: 2 chunks of each of 2 rows of 2-bit codes
            self.assertGreaterEqual(kernel.first, 64, kernel.name)
        # 16-bit caches with heads of 128: 8 vectors of keys and 8 of values in flight.
        attention = [k for k in kernels if "attend_split" in k.name and "Li128E" in k.name and "PassE0" in k.name]
        of_halves = [k for k in attention if "DTypeE1E" in k.name or "DTypeE2E" in k.name]
        self.assertGreaterEqual(len(of_halves), 6)
        for kernel in of_halves:
            self.assertGreaterEqual(kernel.ahead, 256, kernel.name)
            self.assertEqual(kernel.local, 0, kernel.name)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if result.skipped else 0)
