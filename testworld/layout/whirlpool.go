package layout

import "encoding/binary"

// Orca Whirlpool: discriminators (whirlpools).
var (
	whirlpool        = [8]byte{0x3f, 0x95, 0xd1, 0x0c, 0xe1, 0x80, 0x63, 0x09}
	whirlpoolFixed   = [8]byte{0x45, 0x61, 0xbd, 0xbe, 0x6e, 0x07, 0x42, 0xbb}
	whirlpoolDynamic = [8]byte{0x11, 0xd8, 0xf6, 0x8e, 0xe1, 0xc7, 0xda, 0x38}
)

// Sizes of Whirlpool's accounts (whirlpools, state/{whirlpool,tick_array}.rs).
const (
	WhirlpoolSize       = 653
	WhirlpoolArraySize  = 9988
	WhirlpoolArrayTicks = 88

	whirlpoolTickSize = 113
)

// Whirlpool is a pool. Price is the square root of the price, in Q64.64. Rate is in millionths.
type Whirlpool struct {
	Mints, Vaults    [2]Key
	Spacing, Rate    uint16
	Liquidity, Price U128
	Tick             int32
}

// Bytes returns the account's data.
func (p *Whirlpool) Bytes() []byte {
	d := make([]byte, WhirlpoolSize)
	copy(d, whirlpool[:])
	binary.LittleEndian.PutUint16(d[41:], p.Spacing)
	binary.LittleEndian.PutUint16(d[43:], p.Spacing) // the fee tier: no adaptive fee
	binary.LittleEndian.PutUint16(d[45:], p.Rate)
	putU128(d[49:], p.Liquidity)
	putU128(d[65:], p.Price)
	binary.LittleEndian.PutUint32(d[81:], uint32(p.Tick))
	for side, at := range [2]int{101, 181} {
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
		t.put(d[12+whirlpoolTickSize*t.Place:])
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
		d = append(d, make([]byte, whirlpoolTickSize)...)
		ticks[0].put(d[len(d)-whirlpoolTickSize:])
		ticks = ticks[1:]
	}
	return d
}
