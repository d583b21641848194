"""The accumulator of an exact sum in LLVM's text: adding to its limbs, carrying, rounding.

The limbs are a fixed-point number of 68 digits of 32 bits (least digit `2**-1074`) held in int64
words, carries left for later: `2**31` additions cannot overflow. It is the superaccumulator of
Kulisch (1971) in carry-save form. `limbs_add` adds doubles in memory; NaN and infinities are
counted in words 68-70. `limb_put` adds `mantissa * 2**(place - 1074)`.

A running sum also reads its accumulator, element by element: `limb_carry`, then `limb_round`.
Limbs that are carried are digits of 32 bits, but for the last, which is 0 or -1: two's complement.
"""

from __future__ import annotations

from typing import Final

# A signed mantissa, shifted by s < 32 bits, is cut at multiples of 32 bits without 128-bit numbers:
# the low digit is that of mantissa << s, all above it mantissa >> (32 - s), rounded down.
_PUT: Final = """\
  %digit = lshr i64 %place, 5
  %shift = and i64 %place, 31
  %left = shl i64 %mantissa, %shift
  %d0 = and i64 %left, 4294967295
  %right = sub i64 32, %shift
  %above = ashr i64 %mantissa, %right
  %d1 = and i64 %above, 4294967295
  %d2 = ashr i64 %above, 32
  %p0 = getelementptr i64, ptr %limbs, i64 %digit
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %l0 = load i64, ptr %p0
  %r0 = add i64 %l0, %d0
  store i64 %r0, ptr %p0
  %l1 = load i64, ptr %p1
  %r1 = add i64 %l1, %d1
  store i64 %r1, ptr %p1
  %l2 = load i64, ptr %p2
  %r2 = add i64 %l2, %d2
  store i64 %r2, ptr %p2"""

LIMBS_ADD: Final = f"""\
define internal void @limbs_add(ptr %limbs, ptr %terms, i64 %count) noinline nounwind {{
entry:
  br label %term
term:
  %j = phi i64 [ 0, %entry ], [ %next, %done ]
  %where = getelementptr i64, ptr %terms, i64 %j
  %bits = load i64, ptr %where
  %e0 = lshr i64 %bits, 52
  %e = and i64 %e0, 2047
  %fraction = and i64 %bits, 4503599627370495
  %special = icmp eq i64 %e, 2047
  br i1 %special, label %odd, label %finite
odd:
  %nan = icmp ne i64 %fraction, 0
  %negative = icmp slt i64 %bits, 0
  %which = select i1 %negative, i64 70, i64 69
  %word = select i1 %nan, i64 68, i64 %which
  %pc = getelementptr i64, ptr %limbs, i64 %word
  %c0 = load i64, ptr %pc
  %c1 = add i64 %c0, 1
  store i64 %c1, ptr %pc
  br label %done
finite:
  %normal = icmp ne i64 %e, 0
  %one = zext i1 %normal to i64
  %hidden = shl i64 %one, 52
  %size = or i64 %fraction, %hidden
  %sign = ashr i64 %bits, 63
  %flipped = xor i64 %size, %sign
  %mantissa = sub i64 %flipped, %sign
  %place = sub i64 %e, %one
{_PUT}
  br label %done
done:
  %next = add i64 %j, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %term, label %end
end:
  ret void
}}
define internal void @limb_put(ptr %limbs, i64 %mantissa, i64 %place) noinline nounwind {{
entry:
{_PUT}
  ret void
}}"""

# Carries from digit `first` on: at least as far as digit `last`, and on while there is something.
LIMB_CARRY: Final = """\
define internal void @limb_carry(ptr %limbs, i64 %first, i64 %last) noinline nounwind {
entry:
  br label %digit
digit:
  %k = phi i64 [ %first, %entry ], [ %next, %digit ]
  %p = getelementptr i64, ptr %limbs, i64 %k
  %v = load i64, ptr %p
  %high = ashr i64 %v, 32
  %low = and i64 %v, 4294967295
  store i64 %low, ptr %p
  %next = add i64 %k, 1
  %q = getelementptr i64, ptr %limbs, i64 %next
  %w = load i64, ptr %q
  %sum = add i64 %w, %high
  store i64 %sum, ptr %q
  %some = icmp ne i64 %high, 0
  %early = icmp slt i64 %next, %last
  %wanted = or i1 %some, %early
  %inside = icmp slt i64 %next, 67
  %more = and i1 %wanted, %inside
  br i1 %more, label %digit, label %done
done:
  ret void
}"""

# The sum in carried limbs, rounded to nearest, or to odd so that it can be rounded again. Three
# digits from the first that says something; a last bit says whether there is more below; then 63
# bits (to odd: 53) in the same way; and two powers of two, since the least may be 2**-1136. The
# products are exact or overflow: below 2**-1022 a sum of doubles has no more than 52 bits.
LIMB_ROUND: Final = """\
declare i128 @llvm.ctlz.i128(i128, i1)
define internal double @limb_round(ptr %limbs, i1 %odd) noinline nounwind {
entry:
  %pn = getelementptr i64, ptr %limbs, i64 68
  %pu = getelementptr i64, ptr %limbs, i64 69
  %pd = getelementptr i64, ptr %limbs, i64 70
  %nans = load i64, ptr %pn
  %ups = load i64, ptr %pu
  %downs = load i64, ptr %pd
  %up = icmp ne i64 %ups, 0
  %down = icmp ne i64 %downs, 0
  %nan0 = icmp ne i64 %nans, 0
  %both = and i1 %up, %down
  %nan = or i1 %nan0, %both
  %infinite = or i1 %up, %down
  %special = or i1 %nan, %infinite
  br i1 %special, label %odd_one, label %finite
odd_one:
  %infinity = select i1 %up, double 0x7FF0000000000000, double 0xFFF0000000000000
  %which = select i1 %nan, double 0x7FF8000000000000, double %infinity
  ret double %which
finite:
  %ptop = getelementptr i64, ptr %limbs, i64 67
  %top = load i64, ptr %ptop
  %sign = ashr i64 %top, 63
  %fill = and i64 %sign, 4294967295
  %fill1 = insertelement <8 x i64> poison, i64 %fill, i64 0
  %fill8 = shufflevector <8 x i64> %fill1, <8 x i64> poison, <8 x i32> zeroinitializer
  br label %high
high:
  %kh = phi i64 [ 66, %finite ], [ %kh8, %higher ]
  %far = icmp sge i64 %kh, 10
  br i1 %far, label %eight, label %search
eight:
  %kfirst = sub i64 %kh, 7
  %p8 = getelementptr i64, ptr %limbs, i64 %kfirst
  %d8 = load <8 x i64>, ptr %p8, align 8
  %says8 = icmp ne <8 x i64> %d8, %fill8
  %said8 = bitcast <8 x i1> %says8 to i8
  %some8 = icmp ne i8 %said8, 0
  br i1 %some8, label %search, label %higher
higher:
  %kh8 = sub i64 %kh, 8
  br label %high
search:
  %k = phi i64 [ %kh, %high ], [ %kh, %eight ], [ %below, %search ]
  %pk = getelementptr i64, ptr %limbs, i64 %k
  %dk = load i64, ptr %pk
  %says = icmp ne i64 %dk, %fill
  %end = icmp eq i64 %k, 2
  %stop = or i1 %says, %end
  %below = sub i64 %k, 1
  br i1 %stop, label %found, label %search
found:
  %k1 = sub i64 %k, 1
  %k0 = sub i64 %k, 2
  %p1 = getelementptr i64, ptr %limbs, i64 %k1
  %p0 = getelementptr i64, ptr %limbs, i64 %k0
  %d1 = load i64, ptr %p1
  %d0 = load i64, ptr %p0
  br label %low
low:
  %jl = phi i64 [ 0, %found ], [ %jl8, %lower ]
  %jl8 = add i64 %jl, 8
  %within = icmp sle i64 %jl8, %k0
  br i1 %within, label %lower, label %rest
lower:
  %pl8 = getelementptr i64, ptr %limbs, i64 %jl
  %dl8 = load <8 x i64>, ptr %pl8, align 8
  %left8 = icmp ne <8 x i64> %dl8, zeroinitializer
  %bits8 = bitcast <8 x i1> %left8 to i8
  %any8 = icmp ne i8 %bits8, 0
  br i1 %any8, label %whole, label %low
rest:
  %j = phi i64 [ %jl, %low ], [ %jnext, %look ]
  %over = icmp sge i64 %j, %k0
  br i1 %over, label %whole, label %look
look:
  %pj = getelementptr i64, ptr %limbs, i64 %j
  %dj = load i64, ptr %pj
  %jnext = add i64 %j, 1
  %left = icmp ne i64 %dj, 0
  br i1 %left, label %whole, label %rest
whole:
  %sticky = phi i128 [ 0, %rest ], [ 1, %look ], [ 1, %lower ]
  %s = sext i64 %sign to i128
  %s96 = shl i128 %s, 96
  %w2 = zext i64 %dk to i128
  %w2s = shl i128 %w2, 64
  %w1 = zext i64 %d1 to i128
  %w1s = shl i128 %w1, 32
  %w0 = zext i64 %d0 to i128
  %a = or i128 %s96, %w2s
  %b = or i128 %w1s, %w0
  %c = or i128 %a, %b
  %c2 = shl i128 %c, 1
  %n = or i128 %c2, %sticky
  %negative = icmp slt i128 %n, 0
  %minus = sub i128 0, %n
  %size = select i1 %negative, i128 %minus, i128 %n
  %zero = icmp eq i128 %size, 0
  br i1 %zero, label %nothing, label %something
nothing:
  ret double 0.0
something:
  %lead = call i128 @llvm.ctlz.i128(i128 %size, i1 true)
  %wide = shl i128 %size, %lead
  %drop = select i1 %odd, i128 75, i128 65
  %kept = lshr i128 %wide, %drop
  %back = shl i128 %kept, %drop
  %lost = icmp ne i128 %back, %wide
  %bit = zext i1 %lost to i64
  %m0 = trunc i128 %kept to i64
  %m = or i64 %m0, %bit
  %x = sitofp i64 %m to double
  %lead64 = trunc i128 %lead to i64
  %drop64 = trunc i128 %drop to i64
  %unit = mul i64 %k0, 32
  %e0 = sub i64 %drop64, %lead64
  %e1 = add i64 %e0, %unit
  %e = sub i64 %e1, 1075
  %h = ashr i64 %e, 1
  %r = sub i64 %e, %h
  %hb = add i64 %h, 1023
  %rb = add i64 %r, 1023
  %hs = shl i64 %hb, 52
  %rs = shl i64 %rb, 52
  %f = bitcast i64 %hs to double
  %g = bitcast i64 %rs to double
  %y0 = fmul double %x, %f
  %y1 = fmul double %y0, %g
  %y2 = fneg double %y1
  %y = select i1 %negative, double %y2, double %y1
  ret double %y
}"""
