package api

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// mostValued is the most tokens of a wallet that are ordered by value. The tokens of a wallet
	// with more are ordered by mint, because anybody can send a wallet half a million tokens.
	mostValued = 10_000
	maxHeld    = 1_000
)

// ownerTokensResponse is the body of GET /owners/{owner}/tokens.
type ownerTokensResponse struct {
	Owner pubkey.Key  `json:"owner"`
	Items []ownerHeld `json:"items"`
	Limit int         `json:"limit"`
	Total uint64      `json:"total"`
	// Sort is value, or mint for a wallet with more than mostValued tokens.
	Sort string  `json:"sort"`
	Next *string `json:"next"`
	balances.State
}

// ownerHeld is what a wallet holds of a mint. For a mint that is not in the registry, symbol, name,
// decimals, price and value are nil. At a past slot, price and value are nil.
type ownerHeld struct {
	Mint     pubkey.Key `json:"mint"`
	Symbol   *string    `json:"symbol"`
	Name     *string    `json:"name"`
	Decimals *uint8     `json:"decimals"`
	Amount   string     `json:"amount"`
	Accounts uint64     `json:"accounts"`
	PriceUSD *float64   `json:"price_usd"`
	ValueUSD *float64   `json:"value_usd"`
	Complete bool       `json:"complete"`
}

// getOwnerTokens is GET /owners/{owner}/tokens: what a wallet holds, the highest value first, now
// or at the end of a slot. It reads ClickHouse.
func (s *Server) getOwnerTokens(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultLimit, maxHeld)
	if err != nil {
		return err
	}
	slot, err := queryAtSlot(c)
	if err != nil {
		return err
	}
	after, err := queryCursor(c, parseHeldCursor)
	if err != nil {
		return err
	}
	owner, err := pathOwner(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	response := ownerTokensResponse{Owner: owner, Limit: int(limit), Sort: "value"}
	var held balances.Held
	if after.byMint { // a page, but not the first one, of a wallet with more than mostValued tokens
		held, err = s.deps.Balances.Held(ctx, owner, after.mint.String(), response.Limit+1, slot)
	} else {
		held, err = s.deps.Balances.Held(ctx, owner, "", mostValued+1, slot)
	}
	if err != nil {
		return s.balancesError(err)
	}
	if response.Total = held.Total; after.byMint {
		response.Total = after.total // Held counts the tokens only for the first page
	}
	if after.byMint || len(held.Holdings) > mostValued {
		response.Sort = "mint"
	}
	s.fillOwnerTokens(&response, held.Holdings, after, slot == nil)
	if err := s.completeOwnerTokens(ctx, &response, slot, held.From); err != nil {
		return s.balancesError(err)
	}
	return c.JSON(response)
}

// fillOwnerTokens sets the items and the cursor of the next page.
func (s *Server) fillOwnerTokens(response *ownerTokensResponse, held []balances.Holding, after heldCursor, now bool) {
	items := make([]ownerHeld, 0, len(held))
	for i := range held {
		items = append(items, s.ownerHeldOf(&held[i], now))
	}
	if response.Sort == "value" {
		slices.SortStableFunc(items, func(a, b ownerHeld) int { return heldCursorOf(&a, false).compare(heldCursorOf(&b, false)) })
		items = slices.DeleteFunc(items, func(item ownerHeld) bool { return after.given && after.compare(heldCursorOf(&item, false)) >= 0 })
	}
	if len(items) > response.Limit {
		items = items[:response.Limit]
		cursor := heldCursorOf(&items[len(items)-1], response.Sort == "mint")
		cursor.total = response.Total
		next := cursor.String()
		response.Next = &next
	}
	response.Items = items
}

func (s *Server) ownerHeldOf(h *balances.Holding, now bool) ownerHeld {
	item := ownerHeld{Mint: h.Mint, Amount: h.Amount, Accounts: h.Accounts}
	token := s.replica.Lookup(h.Mint)
	if token == nil {
		return item
	}
	item.Symbol, item.Name, item.Decimals = &token.Symbol, &token.Name, &token.Decimals
	id, _ := s.replica.ID(h.Mint)
	market := s.replica.Market(id)
	if !now || market == nil || market.PriceUSD == nil {
		return item
	}
	item.PriceUSD = market.PriceUSD
	if raw, err := strconv.ParseFloat(h.Amount, 64); err == nil {
		value := raw / math.Pow10(int(token.Decimals)) * *market.PriceUSD
		item.ValueUSD = &value
	}
	return item
}

// completeOwnerTokens sets Complete of each item, and the state of the whole answer. from is the
// first slot of which changes of balances are held. At a past slot, a mint is complete only if
// SinceSlot, from which its changes are known, is not after that slot and not before from.
func (s *Server) completeOwnerTokens(ctx context.Context, response *ownerTokensResponse, slot *uint64, from uint64) error {
	mints := make([]pubkey.Key, 0, len(response.Items))
	for i := range response.Items {
		mints = append(mints, response.Items[i].Mint)
	}
	states, err := s.deps.Balances.States(ctx, mints)
	if err != nil {
		return err
	}
	for mint, state := range states {
		if slot != nil && (state.SinceSlot == nil || *state.SinceSlot > *slot || *state.SinceSlot < from) {
			state.Complete = false
			states[mint] = state
		}
	}
	for i := range response.Items {
		response.Items[i].Complete = states[response.Items[i].Mint].Complete
	}
	response.State = joinStates(states, len(mints))
	if slot != nil {
		response.AsOfSlot = slot
	}
	return nil
}

// joinStates returns the state of an answer about count mints, of which states has those that were
// counted. The answer is complete if each of the mints is. SinceSlot and AsOfSlot are the highest
// of any mint.
func joinStates(states map[pubkey.Key]balances.State, count int) balances.State {
	joined := balances.State{Complete: len(states) == count && count > 0}
	for _, state := range states {
		joined.Complete = joined.Complete && state.Complete
		joined.SinceSlot, joined.AsOfSlot = laterSlot(joined.SinceSlot, state.SinceSlot), laterSlot(joined.AsOfSlot, state.AsOfSlot)
	}
	return joined
}

// laterSlot returns the higher slot. A nil slot is lower than any other.
func laterSlot(a, b *uint64) *uint64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// heldCursor is a token's place among the tokens of a wallet. The zero value is before all tokens.
type heldCursor struct {
	// byMint is true if the tokens are ordered by mint, and not by value. given is false in the
	// zero value only.
	byMint, given bool
	value         float64 // in US dollars; -1 if unknown
	// total is the number of tokens that the first page counted.
	total uint64
	mint  pubkey.Key
}

func heldCursorOf(item *ownerHeld, byMint bool) heldCursor {
	cursor := heldCursor{byMint: byMint, given: true, value: -1, mint: item.Mint}
	if item.ValueUSD != nil {
		cursor.value = *item.ValueUSD
	}
	return cursor
}

// compare orders by value, the highest first and unknown values last, then by mint.
func (c heldCursor) compare(d heldCursor) int {
	return cmp.Or(cmp.Compare(d.value, c.value), pubkey.Compare(c.mint, d.mint))
}

// heldCursorSize is the length of a cursor in bytes.
const heldCursorSize = 1 + 8 + 8 + pubkey.Size

// String returns the order, the value, the total and the mint in hexadecimal digits.
func (c heldCursor) String() string {
	raw := []byte{0}
	if c.byMint {
		raw[0] = 1
	}
	raw = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(raw, math.Float64bits(c.value)), c.total)
	return hex.EncodeToString(append(raw, c.mint[:]...))
}

var errHeldCursor = errors.New("not a cursor")

// parseHeldCursor reads what String makes.
func parseHeldCursor(text string) (c heldCursor, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != heldCursorSize {
		return c, errHeldCursor
	}
	return heldCursor{
		byMint: raw[0] != 0, given: true, value: math.Float64frombits(binary.BigEndian.Uint64(raw[1:])), total: binary.BigEndian.Uint64(raw[9:]),
		mint: pubkey.Key(raw[17:]),
	}, nil
}
