package venue

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Rent is what the chain demands for the bytes of an account (the Rent sysvar). It may change from
// one epoch to the next.
type Rent struct {
	// LamportsPerByte times Threshold is how many lamports an account must have for each byte.
	LamportsPerByte uint64
	Threshold       float64
}

// DefaultRent is the rent of mainnet since September 2026, the second step of SIMD-0437.
var DefaultRent = Rent{LamportsPerByte: 5080, Threshold: 1}

// RentSysvar is the address of the account that has the rent.
var RentSysvar = pubkey.MustParse("SysvarRent111111111111111111111111111111111")

// RentSize is the length of RentSysvar in bytes (solana-rent 4.5: lamports_per_byte u64, threshold
// f64, burn_percent u8).
const RentSize = 17

// leastPerByte and mostPerByte bound the lamports for a byte. SIMD-0437 lowers them from 6,960 to
// 696. A server that tells less than a tenth of the lowest, or more than ten times the highest,
// lies, for example to make users believe in a huge deposit.
const leastPerByte, mostPerByte = 69.6, 69_600

// ParseRent reads the data of RentSysvar. It returns ErrMalformed for a rent that is out of the
// bounds.
func ParseRent(data []byte) (Rent, error) {
	if len(data) < RentSize {
		return Rent{}, fmt.Errorf("%w: a rent of %d bytes", ErrMalformed, len(data))
	}
	r := Rent{binary.LittleEndian.Uint64(data), math.Float64frombits(binary.LittleEndian.Uint64(data[8:]))}
	perByte := float64(r.LamportsPerByte) * r.Threshold
	// NaN is not within the bounds either. A tiny Threshold could hide a huge LamportsPerByte, with
	// which the product in Of would overflow.
	if within := perByte >= leastPerByte && perByte <= mostPerByte; !within || r.LamportsPerByte > mostPerByte {
		return Rent{}, fmt.Errorf("%w: a rent of %d lamports a byte, %g times", ErrMalformed, r.LamportsPerByte, r.Threshold)
	}
	return r, nil
}

// Of returns the lamports that an account with size bytes of data must have (solana-rent 4.5,
// minimum_balance).
func (r Rent) Of(size int) uint64 {
	const header = 128 // bytes that are counted for each account
	return uint64(float64(uint64(header+size)*r.LamportsPerByte) * r.Threshold)
}
