package balances

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// errCursor does not say what is wrong with the text: nobody writes a cursor by hand.
var errCursor = errors.New("not a cursor")

// RankCursor is a holder's place in the ranking.
type RankCursor struct {
	rank   uint64
	amount *big.Int // nil in the zero value, which is before all holders
	owner  pubkey.Key
}

func (c *RankCursor) zero() bool { return c.amount == nil }

// CursorOf returns the place of a holder.
func CursorOf(h *Holder) RankCursor {
	amount, ok := new(big.Int).SetString(h.Amount, 10)
	if !ok {
		amount = new(big.Int)
	}
	return RankCursor{h.Rank, amount, h.Owner}
}

// Sizes of cursors in bytes. A sum of amounts is in 128 bits.
const (
	amountSize = 16
	rankSize   = 8 + amountSize + pubkey.Size
	moveSize   = 8 + 8 + 64 + 1
)

// String returns rank, amount and owner in hexadecimal digits.
func (c RankCursor) String() string {
	raw := binary.BigEndian.AppendUint64(nil, c.rank)
	raw = append(raw, c.amount.FillBytes(make([]byte, amountSize))...)
	return hex.EncodeToString(append(raw, c.owner[:]...))
}

// ParseRankCursor is the inverse of String.
func ParseRankCursor(text string) (c RankCursor, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != rankSize {
		return c, errCursor
	}
	return RankCursor{binary.BigEndian.Uint64(raw), new(big.Int).SetBytes(raw[8 : 8+amountSize]), pubkey.Key(raw[8+amountSize:])}, nil
}

// behind returns whether a holder with this amount and owner comes after the cursor.
func (c *RankCursor) behind(amount *big.Int, owner pubkey.Key) bool {
	if c.zero() {
		return true
	}
	if order := amount.Cmp(c.amount); order != 0 {
		return order < 0
	}
	return string(owner[:]) > string(c.owner[:])
}

// MoveCursor is the place of a transfer. The zero value is newer than all transfers.
type MoveCursor struct {
	slot, place uint64
	signature   [64]byte
	in          bool // see Movement.In
}

func (c *MoveCursor) zero() bool { return *c == MoveCursor{} }

// MoveCursorOf returns the place of a transfer.
func MoveCursorOf(m *Movement) MoveCursor { return MoveCursor{m.Slot, m.Place, m.Signature, m.In} }

// String returns slot, place, signature and side in hexadecimal digits.
func (c MoveCursor) String() string {
	raw := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.slot), c.place)
	raw, side := append(raw, c.signature[:]...), byte(0)
	if c.in {
		side = 1
	}
	return hex.EncodeToString(append(raw, side))
}

// ParseMoveCursor is the inverse of String.
func ParseMoveCursor(text string) (c MoveCursor, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != moveSize {
		return c, errCursor
	}
	return MoveCursor{binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:]), [64]byte(raw[16 : moveSize-1]), raw[moveSize-1] != 0}, nil
}
