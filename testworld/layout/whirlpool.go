package layout

import "encoding/binary"

// Orca Whirlpool: discriminators (whirlpools).
var (
	// WhirlpoolSwapV2 begins swap_v2.
	WhirlpoolSwapV2 = [8]byte{0x2b, 0x04, 0xed, 0x0b, 0x1a, 0xc9, 0x1e, 0x62}

	whirlpool        = [8]byte{0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09}
	whirlpoolFixed   = [8]byte{0x45, 0x61, 0xbd, 0xbe, 0x6e, 0x07, 0x42, 0xbb}
	whirlpoolDynamic = [8]byte{0x11, 0xd8, 0xf6, 0x8e, 0xe1, 0xc7, 0xda, 0x38}
)

// Sizes of Whirlpool's accounts, and offsets in a pool (whirlpools,
// state/{whirlpool,tick_array}.rs).
const (
	WhirlpoolSize       = 653
	WhirlpoolArraySize  = 9988
	WhirlpoolArrayTicks = 88
	WhirlpoolTickSize   = 113

	WhirlpoolSpacing   = 41
	WhirlpoolRate      = 45
	WhirlpoolLiquidity = 49
	WhirlpoolPrice     = 65
	WhirlpoolTickAt    = 81
	// WhirlpoolMintA is the mint of token a; its vault follows.
	WhirlpoolMintA = 101
	WhirlpoolMintB = 181
)

// Whirlpool is a pool. Price is the square root of the price, in Q64.64. Rate is in millionths.
type Whirlpool struct {
	Config           Key
	Mints, Vaults    [2]Key
	Spacing, Rate    uint16
	Liquidity, Price U128
	Tick             int32
}

// Bytes returns the account's data.
func (p *Whirlpool) Bytes() []byte {
	d := make([]byte, WhirlpoolSize)
	copy(d, whirlpool[:])
	copy(d[8:], p.Config[:])
	binary.LittleEndian.PutUint16(d[WhirlpoolSpacing:], p.Spacing)
	// The fee tier is that of the spacing: no adaptive fee.
	binary.LittleEndian.PutUint16(d[WhirlpoolSpacing+2:], p.Spacing)
	binary.LittleEndian.PutUint16(d[WhirlpoolRate:], p.Rate)
	putU128(d[WhirlpoolLiquidity:], p.Liquidity)
	putU128(d[WhirlpoolPrice:], p.Price)
	binary.LittleEndian.PutUint32(d[WhirlpoolTickAt:], uint32(p.Tick))
	for side, at := range [2]int{WhirlpoolMintA, WhirlpoolMintB} {
		copy(d[at:], p.Mints[side][:])
		copy(d[at+32:], p.Vaults[side][:])
	}
	return d
}

// WhirlpoolTick is an initialized tick by its place in an array. Net is in two's complement.
type WhirlpoolTick struct {
	Place      int
	Net, Gross U128
}

// put writes a tick of either kind of array.
func (t WhirlpoolTick) put(d []byte) {
	d[0] = 1
	putU128(d[1:], t.Net)
	putU128(d[17:], t.Gross)
}

// WhirlpoolFixedArray returns a fixed tick array that begins at tick start.
func WhirlpoolFixedArray(pool Key, start int32, ticks []WhirlpoolTick) []byte {
	d := make([]byte, WhirlpoolArraySize)
	copy(d, whirlpoolFixed[:])
	binary.LittleEndian.PutUint32(d[8:], uint32(start))
	for _, t := range ticks {
		t.put(d[12+WhirlpoolTickSize*t.Place:])
	}
	copy(d[WhirlpoolArraySize-len(pool):], pool[:])
	return d
}

// WhirlpoolDynamicArray returns a dynamic tick array, which has bytes for initialized ticks only.
// The ticks are in ascending order.
func WhirlpoolDynamicArray(pool Key, start int32, ticks []WhirlpoolTick) []byte {
	d := append(binary.LittleEndian.AppendUint32(whirlpoolDynamic[:], uint32(start)), pool[:]...)
	bitmap := U128{}
	for _, t := range ticks {
		bitmap[t.Place/64] |= 1 << (t.Place % 64)
	}
	d = append(d, make([]byte, 16)...)
	putU128(d[44:], bitmap)
	for place := range WhirlpoolArrayTicks {
		if len(ticks) == 0 || ticks[0].Place != place {
			d = append(d, 0)
			continue
		}
		d = append(d, make([]byte, WhirlpoolTickSize)...)
		ticks[0].put(d[len(d)-WhirlpoolTickSize:])
		ticks = ticks[1:]
	}
	return d
}

// WhirlpoolTicks returns the initialized ticks of a tick array of either kind, in ascending order,
// and the tick that it begins at; ok is false for other data.
func WhirlpoolTicks(d []byte) (start int32, ticks []WhirlpoolTick, ok bool) {
	at, dynamic := 12, false
	switch {
	case len(d) == WhirlpoolArraySize && [8]byte(d) == whirlpoolFixed:
	case len(d) >= 60+WhirlpoolArrayTicks && [8]byte(d) == whirlpoolDynamic:
		at, dynamic = 60, true
	default:
		return 0, nil, false
	}
	for place := range WhirlpoolArrayTicks {
		size := WhirlpoolTickSize
		if at >= len(d) {
			return 0, nil, false
		}
		if dynamic && d[at] == 0 {
			size = 1
		}
		if len(d) < at+size {
			return 0, nil, false
		}
		if d[at] != 0 {
			u64 := func(from int) uint64 { return binary.LittleEndian.Uint64(d[at+from:]) }
			ticks = append(ticks, WhirlpoolTick{Place: place, Net: U128{u64(1), u64(9)}, Gross: U128{u64(17), u64(25)}})
		}
		at += size
	}
	return int32(binary.LittleEndian.Uint32(d[8:])), ticks, true
}
