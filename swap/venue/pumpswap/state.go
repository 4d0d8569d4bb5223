package pumpswap

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/mintlake/mintlake/swap/venue"
)

// Layouts (pump_amm.json of pump-rust-client 0.5.0; packed, after Anchor's 8-byte discriminator).
// Upgrades append fields, so an account may be longer. In a shorter one, the missing fields are 0.
const (
	poolCreator       = 11
	poolBaseMint      = 43
	poolQuoteMint     = 75
	poolBaseVault     = 139
	poolQuoteVault    = 171
	poolLPSupply      = 203
	poolCoinCreator   = 211
	poolMayhem        = 243
	poolCashback      = 244
	poolVirtual       = 245
	poolCreatorRate   = 261
	poolProtocolOwed  = 271
	poolCreatorOwed   = 279
	poolLength        = 287
	poolPrefix        = 211
	configFlags       = 56
	configRecipients  = 57
	configReserved    = 385
	configReserved7   = 418
	configBuyback     = 643
	configBuybackBps  = 899
	configCreatorRate = 940
	configLength      = 941
	configPrefix      = 643
	recipients        = 8 // keys of each kind, the first reserved key apart from the others

	disabledBuy  = 1 << 3
	disabledSell = 1 << 4
)

var (
	poolDiscriminator   = [8]byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}
	configDiscriminator = [8]byte{0x95, 0x08, 0x9c, 0xca, 0xa0, 0xfc, 0xb0, 0xd9}
)

// state is a Pool account.
type state struct {
	creator, base, quote      venue.Key
	baseVault, quoteVault     venue.Key
	coinCreator               venue.Key
	mayhem, cashback          bool
	virtual                   [2]uint64 // low, high: an i128
	creatorRate               uint64
	protocolOwed, creatorOwed uint64
	short                     bool // lacks the last fields: a trade makes the account longer
}

func decodeState(data []byte) (state, error) {
	if len(data) < poolPrefix || [8]byte(data) != poolDiscriminator {
		return state{}, fmt.Errorf("%w: a pool of %d bytes", venue.ErrMalformed, len(data))
	}
	short := len(data) < poolLength
	data = venue.Padded(data, poolLength)
	key := func(at int) venue.Key { return venue.Key(data[at : at+32]) }
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	s := state{
		creator: key(poolCreator), base: key(poolBaseMint), quote: key(poolQuoteMint), baseVault: key(poolBaseVault), quoteVault: key(poolQuoteVault),
		coinCreator: key(poolCoinCreator), mayhem: data[poolMayhem] != 0, cashback: data[poolCashback] != 0,
		virtual: [2]uint64{number(poolVirtual), number(poolVirtual + 8)}, creatorRate: number(poolCreatorRate),
		protocolOwed: number(poolProtocolOwed), creatorOwed: number(poolCreatorOwed), short: short,
	}
	if s.base == s.quote {
		return state{}, fmt.Errorf("%w: one mint on both sides", venue.ErrMalformed)
	}
	return s, nil
}

// priced returns the quote reserve that makes the price: what the vault holds plus the virtual
// reserves, which may be negative. ok is false if the reserve is not from 1 to 2^64-1.
func (s *state) priced(vault uint64) (reserve uint64, ok bool) {
	low, carry := bits.Add64(vault, s.virtual[0], 0)
	high, _ := bits.Add64(0, s.virtual[1], carry)
	return low, high == 0 && low != 0
}

// config is the GlobalConfig account.
type config struct {
	flags byte
	// recipient gets the protocol fee, reserved that of mayhem pools, buyback a part of it.
	recipient, reserved, buyback venue.Key
	// creatorConfigurable says that a creator rate of the pool's own counts.
	creatorConfigurable bool
}

func decodeConfig(data []byte) (*config, error) {
	if len(data) < configPrefix || [8]byte(data) != configDiscriminator {
		return nil, fmt.Errorf("%w: a global config of %d bytes", venue.ErrMalformed, len(data))
	}
	data = venue.Padded(data, configLength)
	c := &config{flags: data[configFlags], creatorConfigurable: data[configCreatorRate] != 0}
	c.recipient = venue.FirstKey(data[configRecipients:], recipients)
	if c.reserved = venue.FirstKey(data[configReserved:], 1); c.reserved == (venue.Key{}) {
		c.reserved = venue.FirstKey(data[configReserved7:], recipients-1)
	}
	c.buyback = venue.FirstKey(data[configBuyback:], recipients)
	return c, nil
}
