package dammv1

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// Layout of a Pool (borsh, after Anchor's discriminator). The curve is last, and its length depends
// on its kind.
const (
	keySize = 32

	poolMints        = 40
	poolVaults       = 104
	poolShares       = 168
	poolEnabled      = 233
	poolProtocolFees = 234
	poolFees         = 330
	poolStake        = 363
	poolLocked       = 395
	poolActivation   = 403
	poolFirstBuyer   = 411
	poolActivateBy   = 475
	poolCurve        = 874
	curveStable      = 875
	curveStableEnd   = 925
)

var poolDiscriminator = [8]byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}

// state is a pool account. Arrays are by side: token a and token b.
type state struct {
	mints, vaults [2]venue.Key
	// shares are the pool's token accounts for shares of the vaults.
	shares [2]venue.Key
	// protocol are the token accounts to which the protocol's part of the fee goes.
	protocol [2]venue.Key
	enabled  bool
	fees     fees
	// stake is the stake pool of a curve with depegSPL.
	stake venue.Key
	// locked is how many of the pool's own LP tokens are locked.
	locked uint64
	// activation is a slot, or a Unix time if byTime.
	activation uint64
	byTime     bool
	// firstBuyer may trade before the activation, and not after it.
	firstBuyer venue.Key
	curve      curve
	// err is why the pool is not quoted: it has a feature that nothing proves. It is nil for other
	// pools.
	err error
}

// fees are the fees of a pool. trade is a fraction of the amount that is sold, protocol is a
// fraction of that fee.
type fees struct{ trade, protocol fraction }

type fraction struct{ numerator, denominator uint64 }

// maxAmplifier is the program's limit (MAX_AMP).
const maxAmplifier = 10_000

func decodeState(data []byte) (state, error) {
	if len(data) <= poolCurve || [8]byte(data) != poolDiscriminator {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	keys := func(at int) [2]venue.Key {
		return [2]venue.Key{venue.Key(data[at : at+keySize]), venue.Key(data[at+keySize : at+2*keySize])}
	}
	s := state{
		mints: keys(poolMints), vaults: keys(poolVaults), shares: keys(poolShares), protocol: keys(poolProtocolFees), enabled: data[poolEnabled] != 0,
		fees:  fees{fraction{number(poolFees), number(poolFees + 8)}, fraction{number(poolFees + 16), number(poolFees + 24)}},
		stake: venue.Key(data[poolStake : poolStake+keySize]), locked: number(poolLocked), activation: number(poolActivation), byTime: data[poolActivateBy] == 1,
		firstBuyer: venue.Key(data[poolFirstBuyer : poolFirstBuyer+keySize]),
	}
	if s.mints[0] == s.mints[1] {
		return state{}, fmt.Errorf("%w: a pool of one token", venue.ErrMalformed)
	}
	for _, f := range []fraction{s.fees.trade, s.fees.protocol} {
		if f.denominator == 0 || f.numerator > f.denominator {
			return state{}, fmt.Errorf("%w: a fee out of its range", venue.ErrMalformed)
		}
	}
	if s.err = s.curve.decode(data); s.err == nil && data[poolActivateBy] > 1 {
		s.err = fmt.Errorf("%w: activation of type %d", venue.ErrUnverified, data[poolActivateBy])
	}
	if errors.Is(s.err, venue.ErrMalformed) {
		return state{}, s.err
	}
	return s, nil
}

// Kinds of curves.
const (
	kindConstant = 0
	kindStable   = 1
)

func (c *curve) decode(data []byte) error {
	switch {
	case data[poolCurve] == kindConstant:
		return nil
	case data[poolCurve] != kindStable:
		return fmt.Errorf("%w: a curve of kind %d", venue.ErrUnverified, data[poolCurve])
	case len(data) < curveStableEnd:
		return fmt.Errorf("%w: a stable pool of %d bytes", venue.ErrMalformed, len(data))
	}
	number := func(offset int) uint64 { return binary.LittleEndian.Uint64(data[curveStable+offset:]) }
	// After the multipliers comes a byte with the larger number of decimals, which no formula uses.
	*c = curve{
		stable: true, amplifier: number(0), multipliers: [2]uint64{number(8), number(16)},
		price: number(25), cached: number(33), depeg: depeg(data[curveStable+41]),
	}
	switch {
	case c.amplifier == 0 || c.amplifier > maxAmplifier, c.multipliers[0] == 0, c.multipliers[1] == 0:
		return fmt.Errorf("%w: a stable curve out of its range", venue.ErrMalformed)
	case c.depeg > depegSPL:
		return fmt.Errorf("%w: a price of kind %d", venue.ErrUnverified, c.depeg)
	}
	return nil
}

// stakeAccount returns the account that has the price of token b of a depeg curve.
func (s *state) stakeAccount() venue.Key {
	switch s.curve.depeg {
	case depegMarinade:
		return marinadeState
	case depegLido:
		return lidoState
	case depegSPL:
		return s.stake
	case depegNone:
	}
	return venue.Key{}
}
