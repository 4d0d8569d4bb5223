package layout

import "encoding/binary"

// Raydium CLMM: discriminators (raydium-clmm). Pools and configs have those of CPMM.
var (
	CLMMSwapV2    = [8]byte{0x2b, 0x04, 0xed, 0x0b, 0x1a, 0xc9, 0x1e, 0x62}
	clmmArray     = [8]byte{0xc0, 0x9b, 0x55, 0xcd, 0x31, 0xf9, 0x81, 0x2a}
	clmmExtension = [8]byte{0x3c, 0x96, 0x24, 0xdb, 0x61, 0x80, 0x8b, 0x99}
)

// Sizes of CLMM's accounts and offsets in them (raydium-clmm, states/{pool,config,tick_array}.rs).
const (
	CLMMPoolSize      = 1544
	CLMMConfigSize    = 117
	CLMMArraySize     = 10_240
	CLMMExtensionSize = 1832
	CLMMArrayTicks    = 60

	clmmPoolKeys      = 9
	CLMMPoolLiquidity = 237
	clmmPoolFeeOn     = 390
	clmmPoolBitmap    = 904
	clmmPoolOpenTime  = 1080
	clmmPoolDynamic   = 1096
	clmmTickSize      = 168
)

// U128 is a number of 128 bits: its low half first.
type U128 [2]uint64

func putU128(d []byte, n U128) {
	binary.LittleEndian.PutUint64(d, n[0])
	binary.LittleEndian.PutUint64(d[8:], n[1])
}

// CLMMConfig returns an AmmConfig. rate is in millionths.
func CLMMConfig(rate uint32, spacing uint16) []byte {
	d := make([]byte, CLMMConfigSize)
	copy(d, cpmmConfig[:])
	binary.LittleEndian.PutUint32(d[47:], rate)
	binary.LittleEndian.PutUint16(d[51:], spacing)
	return d
}

// CLMMPool is a PoolState. Price is the square root of the price, in Q64.64.
type CLMMPool struct {
	Config, Owner    Key
	Mints, Vaults    [2]Key
	Observation      Key
	Decimals         [2]byte
	Spacing          uint16
	Liquidity, Price U128
	Tick             int32
	Status, FeeOn    byte
	Bitmap           [16]uint64
	OpenTime         uint64
	// Dynamic is the dynamic fee; empty for none.
	Dynamic [80]byte
}

// Bytes returns the account's data.
func (p *CLMMPool) Bytes() []byte {
	d := make([]byte, CLMMPoolSize)
	copy(d, cpmmPool[:])
	at := clmmPoolKeys
	for _, k := range []Key{p.Config, p.Owner, p.Mints[0], p.Mints[1], p.Vaults[0], p.Vaults[1], p.Observation} {
		at += copy(d[at:], k[:])
	}
	d[at], d[at+1] = p.Decimals[0], p.Decimals[1]
	binary.LittleEndian.PutUint16(d[at+2:], p.Spacing)
	putU128(d[CLMMPoolLiquidity:], p.Liquidity)
	putU128(d[CLMMPoolLiquidity+16:], p.Price)
	binary.LittleEndian.PutUint32(d[CLMMPoolLiquidity+32:], uint32(p.Tick))
	d[clmmPoolFeeOn-1], d[clmmPoolFeeOn] = p.Status, p.FeeOn
	for i, word := range p.Bitmap {
		binary.LittleEndian.PutUint64(d[clmmPoolBitmap+8*i:], word)
	}
	binary.LittleEndian.PutUint64(d[clmmPoolOpenTime:], p.OpenTime)
	copy(d[clmmPoolDynamic:], p.Dynamic[:])
	return d
}

// CLMMTick is an initialized tick. Net is in two's complement. Orders are its limit orders.
type CLMMTick struct {
	Index      int32
	Net, Gross U128
	Orders     uint64
}

// CLMMArray returns a TickArrayState that begins at tick start.
func CLMMArray(pool Key, start int32, spacing uint16, ticks []CLMMTick) []byte {
	d := make([]byte, CLMMArraySize)
	copy(d, clmmArray[:])
	copy(d[8:], pool[:])
	binary.LittleEndian.PutUint32(d[40:], uint32(start))
	for _, t := range ticks {
		raw := d[44+clmmTickSize*int((t.Index-start)/int32(spacing)):]
		binary.LittleEndian.PutUint32(raw, uint32(t.Index))
		putU128(raw[4:], t.Net)
		putU128(raw[20:], t.Gross)
		binary.LittleEndian.PutUint64(raw[124:], t.Orders)
	}
	d[44+clmmTickSize*CLMMArrayTicks] = byte(len(ticks))
	return d
}

// CLMMExtension returns a TickArrayBitmapExtension with bits of arrays, which are numbered from
// tick 0.
func CLMMExtension(pool Key, arrays []int32) []byte {
	const bitmap, bitmaps = 512, 14
	d := make([]byte, CLMMExtensionSize)
	copy(d, clmmExtension[:])
	copy(d[8:], pool[:])
	for _, n := range arrays {
		at, bit := 40+int(n/bitmap-1)*bitmap/8, n%bitmap
		if n < 0 {
			at, bit = 40+bitmaps*bitmap/8+int((-n-1)/bitmap-1)*bitmap/8, (n%bitmap+bitmap)%bitmap
		}
		d[at+int(bit/8)] |= 1 << (bit % 8)
	}
	return d
}
