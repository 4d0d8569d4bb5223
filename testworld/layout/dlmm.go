package layout

import "encoding/binary"

// Meteora DLMM: discriminators (dlmm-sdk, idls/dlmm.json).
var (
	dlmmPair  = [8]byte{0x21, 0x0b, 0x31, 0x62, 0xb5, 0x65, 0xb1, 0x0d}
	dlmmArray = [8]byte{0x5c, 0x8e, 0x5c, 0xdc, 0x05, 0x94, 0x46, 0xb5}
)

// Sizes of DLMM's accounts.
const (
	DLMMPairSize  = 904
	DLMMArraySize = 10_136
	DLMMArrayBins = 70

	dlmmBinSize = 144
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
	binary.LittleEndian.PutUint16(d[8:], p.BaseFactor)
	d[35] = 1 // liquidity mining
	binary.LittleEndian.PutUint32(d[76:], uint32(p.Active))
	binary.LittleEndian.PutUint16(d[80:], p.Step)
	for side := range p.Mints {
		copy(d[88+32*side:], p.Mints[side][:])
		copy(d[152+32*side:], p.Reserves[side][:])
	}
	copy(d[552:], p.Oracle[:])
	for i, word := range p.Bitmap {
		binary.LittleEndian.PutUint64(d[584+8*i:], word)
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
	binary.LittleEndian.PutUint64(d[8:], uint64(index))
	copy(d[24:], pool[:])
	for _, b := range bins {
		raw := d[56+dlmmBinSize*b.Place:]
		binary.LittleEndian.PutUint64(raw, b.X)
		binary.LittleEndian.PutUint64(raw[8:], b.Y)
		putU128(raw[16:], b.Price)
	}
	return d
}
