package layout

import "encoding/binary"

// Meteora DLMM: discriminators (dlmm-sdk, idls/dlmm.json).
var (
	// DLMMSwap begins swap2, and DLMMSwapExactOut swap_exact_out2.
	DLMMSwap         = [8]byte{0x41, 0x4b, 0x3f, 0x4c, 0xeb, 0x5b, 0x5b, 0x88}
	DLMMSwapExactOut = [8]byte{0x2b, 0xd7, 0xf7, 0x84, 0x89, 0x3c, 0xf3, 0x51}

	dlmmOracle = [8]byte{0x8b, 0xc2, 0x83, 0xb3, 0x8c, 0xb3, 0xe5, 0xf4}
	dlmmPair   = [8]byte{0x21, 0x0b, 0x31, 0x62, 0xb5, 0x65, 0xb1, 0x0d}
	dlmmArray  = [8]byte{0x5c, 0x8e, 0x5c, 0xdc, 0x05, 0x94, 0x46, 0xb5}
)

// Sizes of DLMM's accounts, and offsets in a pool and in a bin array.
const (
	DLMMPairSize   = 904
	DLMMArraySize  = 10_136
	DLMMArrayBins  = 70
	DLMMBinSize    = 144
	DLMMOracleSize = 3232

	DLMMFactor      = 8
	DLMMFilter      = 10
	DLMMDecay       = 12
	DLMMReduction   = 14
	DLMMControl     = 16
	DLMMMost        = 20
	DLMMPower       = 34
	DLMMAccumulator = 40
	DLMMVolatility  = 44
	DLMMReference   = 48
	DLMMUpdated     = 56
	DLMMActive      = 76
	DLMMStep        = 80
	DLMMMints       = 88
	DLMMReserves    = 152
	DLMMOracleAt    = 552
	DLMMBitmap      = 584

	DLMMArrayIndex = 8
	DLMMArrayPool  = 24
	// DLMMBins is the first bin: what it holds of x and of y, and its price.
	DLMMBins = 56
)

// DLMMPair is a pool of one base fee, without limit orders.
type DLMMPair struct {
	Mints, Reserves  [2]Key
	Oracle           Key
	BaseFactor, Step uint16
	Active           int32
	// Bitmap has the bin arrays from -512 to 511 that hold something.
	Bitmap [16]uint64
}

// Bytes returns the account's data.
func (p *DLMMPair) Bytes() []byte {
	d := make([]byte, DLMMPairSize)
	copy(d, dlmmPair[:])
	binary.LittleEndian.PutUint16(d[DLMMFactor:], p.BaseFactor)
	d[35] = 1 // liquidity mining
	binary.LittleEndian.PutUint32(d[DLMMActive:], uint32(p.Active))
	binary.LittleEndian.PutUint16(d[DLMMStep:], p.Step)
	for side := range p.Mints {
		copy(d[DLMMMints+32*side:], p.Mints[side][:])
		copy(d[DLMMReserves+32*side:], p.Reserves[side][:])
	}
	copy(d[DLMMOracleAt:], p.Oracle[:])
	for i, word := range p.Bitmap {
		binary.LittleEndian.PutUint64(d[DLMMBitmap+8*i:], word)
	}
	return d
}

// DLMMBin is what a bin holds, and its price in Q64.64.
type DLMMBin struct {
	Place int
	X, Y  uint64
	Price U128
}

// DLMMArray returns a bin array.
func DLMMArray(pool Key, index int64, bins []DLMMBin) []byte {
	d := make([]byte, DLMMArraySize)
	copy(d, dlmmArray[:])
	binary.LittleEndian.PutUint64(d[DLMMArrayIndex:], uint64(index))
	copy(d[DLMMArrayPool:], pool[:])
	for _, b := range bins {
		raw := d[DLMMBins+DLMMBinSize*b.Place:]
		binary.LittleEndian.PutUint64(raw, b.X)
		binary.LittleEndian.PutUint64(raw[8:], b.Y)
		putU128(raw[16:], b.Price)
	}
	return d
}

// DLMMOracle returns an oracle without observations.
func DLMMOracle() []byte {
	d := make([]byte, DLMMOracleSize)
	copy(d, dlmmOracle[:])
	binary.LittleEndian.PutUint64(d[24:], 100)
	return d
}
