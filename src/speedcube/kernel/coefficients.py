"""tmp"""
from typing import Final
NEG_LOG64: Final = (float.fromhex("-0x1.0000000000000p+0"), float.fromhex("0x1.ffffffffffee9p-2"), float.fromhex("-0x1.5555555555808p-2"), float.fromhex("0x1.0000000021d88p-2"), float.fromhex("-0x1.9999999991a30p-3"), float.fromhex("0x1.5555552eedc35p-3"), float.fromhex("-0x1.249248fe0975dp-3"), float.fromhex("0x1.000009bc353c1p-3"), float.fromhex("-0x1.c71c951a9c831p-4"), float.fromhex("0x1.9997078f6a565p-4"), float.fromhex("-0x1.74569034d7659p-4"), float.fromhex("0x1.558447d626d1fp-4"), float.fromhex("-0x1.3bb166ca073c0p-4"), float.fromhex("0x1.22ea4c9314702p-4"), float.fromhex("-0x1.092643d0b442fp-4"), float.fromhex("0x1.03a7f9267f1e6p-4"), float.fromhex("-0x1.227d241e18f33p-4"), float.fromhex("0x1.0e990d943be24p-4"), float.fromhex("-0x1.ea2004833c81cp-6"),)
SIN64: Final = (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("-0x1.4abbce625be41p-1"), float.fromhex("0x1.466bc677587f8p-4"), float.fromhex("-0x1.32d2cce2e5b19p-8"), float.fromhex("0x1.50782fda12d96p-13"), float.fromhex("-0x1.e30071afc3e59p-19"), float.fromhex("0x1.e3f38399551bfp-25"),)
COS64: Final = (float.fromhex("0x1.0000000000000p+0"), float.fromhex("-0x1.3bd3cc9be45dep+0"), float.fromhex("0x1.03c1f081b5aacp-2"), float.fromhex("-0x1.55d3c7e3c90f8p-6"), float.fromhex("0x1.e1f5068355e15p-11"), float.fromhex("-0x1.a6d1ec7906c20p-16"), float.fromhex("0x1.f9cc41140bb60p-22"), float.fromhex("-0x1.b264ba152378ap-28"),)
NEG_LOG32: Final = (float.fromhex("-0x1.0000000000000p+0"), float.fromhex("0x1.fffff80000000p-2"), float.fromhex("-0x1.55555e0000000p-2"), float.fromhex("0x1.0004240000000p-2"), float.fromhex("-0x1.999e860000000p-3"), float.fromhex("0x1.5423b00000000p-3"), float.fromhex("-0x1.22cf0e0000000p-3"), float.fromhex("0x1.0fb0320000000p-3"), float.fromhex("-0x1.0647920000000p-3"), float.fromhex("0x1.31338a0000000p-4"),)
SIN32: Final = (float.fromhex("0x1.921fb60000000p+0"), float.fromhex("-0x1.4abbba0000000p-1"), float.fromhex("0x1.465ec40000000p-4"), float.fromhex("-0x1.2d9b400000000p-8"),)
COS32: Final = (float.fromhex("0x1.0000000000000p+0"), float.fromhex("-0x1.3bd3cc0000000p+0"), float.fromhex("0x1.03c1dc0000000p-2"), float.fromhex("-0x1.55c57a0000000p-6"), float.fromhex("0x1.d9c2e80000000p-11"),)
EXP64: Final = (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x1.0000000000000p-1"), float.fromhex("0x1.555555555555ap-3"), float.fromhex("0x1.5555555555557p-5"), float.fromhex("0x1.111111110f1d6p-7"), float.fromhex("0x1.6c16c16c15a3fp-10"), float.fromhex("0x1.a01a01b16405ep-13"), float.fromhex("0x1.a01a01a9faa85p-16"), float.fromhex("0x1.71ddf51d9cd64p-19"), float.fromhex("0x1.27e4d3ebbbbb4p-22"), float.fromhex("0x1.af63bdc453f4fp-26"), float.fromhex("0x1.1f7f7bd858cc6p-29"),)
EXP32: Final = (float.fromhex("0x1.0000000000000p+0"), float.fromhex("0x1.0000000000000p-1"), float.fromhex("0x1.5555560000000p-3"), float.fromhex("0x1.5554ac0000000p-5"), float.fromhex("0x1.1110c60000000p-7"), float.fromhex("0x1.6d76100000000p-10"), float.fromhex("0x1.a1522e0000000p-13"),)
NEG_LN2_64: Final = -0.6931471805599453
LOG2E64: Final = 1.4426950408889634
LN2_HI64: Final = 0.6931471805582987
NEG_LN2_32: Final = -0.6931471824645996
LOG2E32: Final = 1.4426950216293335
LN2_HI32: Final = 0.693115234375
LN2_LO64: Final = 1.6465949582897082e-12
LN2_LO32: Final = 3.194618329871446e-05
