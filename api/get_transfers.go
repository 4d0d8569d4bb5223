package api

import (
	"context"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// transfersResponse is the body of GET /tokens/{mint}/transfers.
type transfersResponse struct {
	Mint     pubkey.Key `json:"mint"`
	Decimals uint8      `json:"decimals"`
	Items    []transfer `json:"items"`
	Limit    int        `json:"limit"`
	Next     *string    `json:"next"`
	balances.State
}

// ownerTransfersResponse is the body of GET /owners/{owner}/transfers.
type ownerTransfersResponse struct {
	Owner pubkey.Key      `json:"owner"`
	Items []ownerTransfer `json:"items"`
	Limit int             `json:"limit"`
	Next  *string         `json:"next"`
	balances.State
}

// transfer is one movement of tokens. A field is nil if the movement has no such thing, or if the
// transaction does not tell it.
type transfer struct {
	Slot uint64 `json:"slot"`
	// BlockTime is in epoch milliseconds.
	BlockTime *int64 `json:"block_time"`
	Signature string `json:"signature"`
	// The indices are those of GET /tokens/{mint}/history. InnerInstructionIndex is nil for an
	// outer instruction, BatchIndex outside of a batch.
	InstructionIndex      int64       `json:"instruction_index"`
	InnerInstructionIndex *int64      `json:"inner_instruction_index"`
	BatchIndex            *int64      `json:"batch_index"`
	Kind                  string      `json:"kind"`
	FromAccount           *pubkey.Key `json:"from_account"`
	FromOwner             *pubkey.Key `json:"from_owner"`
	ToAccount             *pubkey.Key `json:"to_account"`
	ToOwner               *pubkey.Key `json:"to_owner"`
	Amount                *string     `json:"amount"`
	Fee                   *string     `json:"fee"`
}

// ownerTransfer is one movement from or to a wallet. Of the other side the owner is known, and not
// the token account, which is nil.
type ownerTransfer struct {
	Direction string      `json:"direction"`
	Mint      *pubkey.Key `json:"mint"`
	Decimals  *uint8      `json:"decimals"`
	transfer
}

// getTransfers is GET /tokens/{mint}/transfers: the movements of a mint, newest first. It reads
// ClickHouse.
func (s *Server) getTransfers(c *fiber.Ctx) error {
	limit, before, filter, err := queryTransfers(c)
	if err != nil {
		return err
	}
	mint, err := s.balancesMint(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	list, err := s.deps.Balances.Transfers(ctx, mint, filter, before, limit+1)
	if err != nil {
		return s.balancesError(err)
	}
	state, err := s.stateOfTransfers(ctx, []pubkey.Key{mint})
	if err != nil {
		return s.balancesError(err)
	}
	response := transfersResponse{Mint: mint, Items: make([]transfer, 0, len(list)), Limit: limit, State: state}
	if token := s.replica.Lookup(mint); token != nil {
		response.Decimals = token.Decimals
	}
	list, response.Next = pageOf(list, limit)
	for i := range list {
		response.Items = append(response.Items, transferOf(&list[i]))
	}
	return c.JSON(response)
}

// getOwnerTransfers is GET /owners/{owner}/transfers: what a wallet gave and got, newest first. It
// reads ClickHouse.
func (s *Server) getOwnerTransfers(c *fiber.Ctx) error {
	limit, before, filter, err := queryTransfers(c)
	if err != nil {
		return err
	}
	if err := queryOfWallet(c, &filter); err != nil {
		return err
	}
	owner, err := pathOwner(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	list, err := s.deps.Balances.WalletTransfers(ctx, owner, filter, before, limit+1)
	if err != nil {
		return s.balancesError(err)
	}
	response := ownerTransfersResponse{Owner: owner, Items: make([]ownerTransfer, 0, len(list)), Limit: limit}
	list, response.Next = pageOf(list, limit)
	var mints []pubkey.Key
	for i := range list {
		m := &list[i]
		item := ownerTransfer{Direction: directions[0], Mint: optionalKey(m.Mint), transfer: transferOf(m)}
		if !m.In {
			item.Direction = directions[1]
		}
		if item.Mint != nil {
			item.Decimals = &m.Decimals
		}
		response.Items, mints = append(response.Items, item), append(mints, m.Mint)
	}
	if response.State, err = s.stateOfTransfers(ctx, mints); err != nil {
		return s.balancesError(err)
	}
	return c.JSON(response)
}

// stateOfTransfers returns the state of an answer about transfers of mints, which may repeat. The
// transfers of a mint are as complete as its balances, but old transfers are deleted. So SinceSlot
// is at least the first slot of which transfers are kept.
func (s *Server) stateOfTransfers(ctx context.Context, mints []pubkey.Key) (balances.State, error) {
	slices.SortFunc(mints, pubkey.Compare)
	mints = slices.Compact(mints)
	states, err := s.deps.Balances.States(ctx, mints)
	if err != nil {
		return balances.State{}, err
	}
	state := joinStates(states, len(mints))
	kept, err := s.deps.Balances.KeptFrom(ctx)
	if state.SinceSlot != nil {
		state.SinceSlot = laterSlot(state.SinceSlot, &kept)
	}
	return state, err
}

// pageOf returns the first limit rows of list, and the cursor of the next page. The caller has
// asked for limit+1 rows. If list has no more than limit rows, this is the last page, and next is
// nil.
func pageOf(list []balances.Movement, limit int) (page []balances.Movement, next *string) {
	if len(list) <= limit {
		return list, nil
	}
	cursor := balances.MoveCursorOf(&list[limit-1]).String()
	return list[:limit], &cursor
}

func transferOf(m *balances.Movement) transfer {
	place := schemas.UnpackPlace(m.Place)
	t := transfer{
		Slot: m.Slot, Signature: m.SignatureText(), InstructionIndex: int64(place.Instruction), InnerInstructionIndex: optionalIndex(place.Inner),
		BatchIndex: optionalIndex(place.Batch), Kind: m.Kind, FromAccount: optionalKey(m.FromAccount), FromOwner: optionalKey(m.FromOwner),
		ToAccount: optionalKey(m.ToAccount), ToOwner: optionalKey(m.ToOwner), Amount: optionalAmount(m.Amount), Fee: optionalAmount(m.Fee),
	}
	if !m.BlockTime.IsZero() {
		ms := m.BlockTime.UnixMilli()
		t.BlockTime = &ms
	}
	return t
}

// optionalIndex returns a pointer to n; nil for -1, which stands for no index.
func optionalIndex(n int32) *int64 {
	if n < 0 {
		return nil
	}
	index := int64(n)
	return &index
}

// directions are the values of direction, of the parameter and in answers.
var directions = []string{"in", "out"}

// queryTransfers reads the parameters that both routes of transfers have.
func queryTransfers(c *fiber.Ctx) (limit int, before balances.MoveCursor, filter balances.Filter, err error) {
	most, err := queryInteger(c, "limit", defaultLimit, maxLimit)
	if err != nil {
		return 0, before, filter, err
	}
	if before, err = queryCursor(c, balances.ParseMoveCursor); err != nil {
		return 0, before, filter, err
	}
	if filter.From, err = queryMoment(c, "from"); err != nil {
		return 0, before, filter, err
	}
	if filter.To, err = queryMoment(c, "to"); err != nil {
		return 0, before, filter, err
	}
	if filter.Minimum, err = queryRaw(c, "min_amount"); err != nil {
		return 0, before, filter, err
	}
	filter.Kind, err = queryOneOf(c, "kind", schemas.TransferKinds())
	return int(most), before, filter, err
}

// queryOfWallet reads the parameters that only the route of a wallet's transfers has.
func queryOfWallet(c *fiber.Ctx, filter *balances.Filter) (err error) {
	if filter.Direction, err = queryOneOf(c, "direction", directions); err != nil {
		return err
	}
	filter.Mint, err = queryMint(c)
	return err
}

// queryMint reads the parameter mint. It returns nil if the parameter is absent.
func queryMint(c *fiber.Ctx) (*pubkey.Key, error) {
	text, given, err := queryOnce(c, "mint")
	if err != nil || !given {
		return nil, err
	}
	mint, parseErr := pubkey.Parse(text)
	if parseErr != nil {
		return nil, invalid("mint", quoted(text), "must be a mint address, base58")
	}
	return &mint, nil
}

// queryOneOf reads a parameter that must be one of values. It returns an empty text if the
// parameter is absent.
func queryOneOf(c *fiber.Ctx, field string, values []string) (string, error) {
	text, given, err := queryOnce(c, field)
	if err != nil || !given {
		return "", err
	}
	if !slices.Contains(values, text) {
		return "", invalid(field, quoted(text), "must be "+strings.Join(values, ", "))
	}
	return text, nil
}
