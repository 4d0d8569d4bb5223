package pumpcurve

import (
	"encoding/binary"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// Layouts (pump.json of pump-rust-client 0.5.0; packed, after Anchor's 8-byte discriminator).
// Upgrades append fields, so an account may be longer. In a shorter one, the missing fields are 0.
const (
	curveTokens      = 8  // virtual
	curveQuote       = 16 // virtual
	curveRealTokens  = 24
	curveRealQuote   = 32
	curveSupply      = 40
	curveComplete    = 48
	curveCreator     = 49
	curveMayhem      = 81
	curveCashback    = 82
	curveQuoteMint   = 83
	curveCreatorRate = 115
	// curveWithBuckets is the least length of an account that keeps fees itself. The instructions
	// of version 3 need such an account.
	curveWithBuckets = 151
	curvePrefix      = 81

	globalRecipient       = 41
	globalRecipients      = 162
	globalReserved        = 483
	globalReserved7       = 516
	globalBuyback         = 741
	globalCreatorRateOn   = 1045
	globalLength          = 1046
	globalPrefix          = 741
	globalRecipientsCount = 7
)

var (
	curveDiscriminator  = [8]byte{0x17, 0xb7, 0xf8, 0x37, 0x60, 0xd8, 0xac, 0x60}
	globalDiscriminator = [8]byte{0xa7, 0xe8, 0xe8, 0xb1, 0xc8, 0x6c, 0x72, 0x7f}
)

// state is a BondingCurve account.
type state struct {
	// tokens and quote are the virtual reserves, which make the price. realTokens and realQuote are
	// what the curve holds.
	tokens, quote         uint64
	realTokens, realQuote uint64
	supply                uint64
	complete              bool
	creator               venue.Key
	mayhem, cashback      bool
	// quoteMint is zero for SOL.
	quoteMint   venue.Key
	creatorRate uint64
	buckets     bool // the account keeps fees itself
}

func decodeState(data []byte) (state, error) {
	if len(data) < curvePrefix || [8]byte(data) != curveDiscriminator {
		return state{}, fmt.Errorf("%w: a curve of %d bytes", venue.ErrMalformed, len(data))
	}
	buckets := len(data) >= curveWithBuckets
	data = venue.Padded(data, curveWithBuckets)
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	return state{
		tokens: number(curveTokens), quote: number(curveQuote), realTokens: number(curveRealTokens), realQuote: number(curveRealQuote),
		supply: number(curveSupply), complete: data[curveComplete] != 0, creator: venue.Key(data[curveCreator : curveCreator+32]),
		mayhem: data[curveMayhem] != 0, cashback: data[curveCashback] != 0, quoteMint: venue.Key(data[curveQuoteMint : curveQuoteMint+32]),
		creatorRate: number(curveCreatorRate), buckets: buckets,
	}, nil
}

// QuoteMint returns the mint in which the coin of a curve account is quoted. It is zero for SOL,
// and for data that is not that of a curve.
func QuoteMint(data []byte) venue.Key {
	s, err := decodeState(data)
	if err != nil {
		return venue.Key{}
	}
	return s.quoteMint
}

// global is the Global account.
type global struct {
	// recipient gets the protocol fee, reserved that of mayhem coins, buyback a part of the fees.
	recipient, reserved, buyback venue.Key
	// creatorConfigurable says that a creator rate of the curve's own counts.
	creatorConfigurable bool
}

func decodeGlobal(data []byte) (*global, error) {
	if len(data) < globalPrefix || [8]byte(data) != globalDiscriminator {
		return nil, fmt.Errorf("%w: a global account of %d bytes", venue.ErrMalformed, len(data))
	}
	data = venue.Padded(data, globalLength)
	g := &global{creatorConfigurable: data[globalCreatorRateOn] != 0, buyback: venue.FirstKey(data[globalBuyback:], 8)}
	if g.recipient = venue.FirstKey(data[globalRecipient:], 1); g.recipient == (venue.Key{}) {
		g.recipient = venue.FirstKey(data[globalRecipients:], globalRecipientsCount)
	}
	if g.reserved = venue.FirstKey(data[globalReserved:], 1); g.reserved == (venue.Key{}) {
		g.reserved = venue.FirstKey(data[globalReserved7:], globalRecipientsCount)
	}
	return g, nil
}
