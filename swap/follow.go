package swap

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
)

// Bounds of following a transaction.
const (
	// sendPatience is how long a transaction is followed at most. A blockhash is valid for 150
	// blocks: 60 s at 400 ms a block, and longer if slots are skipped.
	sendPatience = 90 * time.Second
	// lookEvery is how often the status of the transaction is read, resendEvery how often the
	// transaction is sent again while it has no status.
	lookEvery, resendEvery = 200 * time.Millisecond, 2 * time.Second
)

// What came of a transaction that was sent.
const (
	sentLanded  = "landed"
	sentFailed  = "failed"
	sentExpired = "expired"
	sentUnknown = "unknown"
	sentRefused = "refused"
)

// Sent is the answer of POST /api/v2/send. Amounts are raw units.
type Sent struct {
	Signature string `json:"signature"`
	// Status is landed; failed: it is in a block, and moved nothing but the fee; expired: no block
	// can take it any more; unknown: the JSON-RPC server did not tell in time.
	Status string `json:"status"`
	// Slot of its block; null if it is in none.
	Slot *uint64 `json:"slot"`
	// Err is the chain's error; null if there is none.
	Err json.RawMessage `json:"err"`
	// Fee in lamports, with the priority fee.
	Fee uint64 `json:"fee"`
	// AmountIn is what left the user's accounts, AmountOut what arrived. Both are computed from the
	// balances before and after the transaction. In SOL, the transaction's fee and the rents of
	// accounts that stay the user's do not count.
	AmountIn  string `json:"amount_in"`
	AmountOut string `json:"amount_out"`
	// Quoted are the amounts of the quote.
	Quoted QuotedAmounts `json:"quoted"`
	// SlippageBps is how much worse than quoted the trade went, in basis points: how much less
	// arrived or, with exact_out, how much more left the user. It is negative if the trade went
	// better, and null unless the transaction landed.
	SlippageBps *float64 `json:"slippage_realised_bps"`
	TookMs      int64    `json:"took_ms"`
}

// QuotedAmounts are the amounts of a quote, as the quote had them.
type QuotedAmounts struct {
	AmountIn     string `json:"amount_in"`
	MaxAmountIn  string `json:"max_amount_in"`
	AmountOut    string `json:"amount_out"`
	MinAmountOut string `json:"min_amount_out"`
}

// sendAndFollow sends a transaction and waits until it is confirmed or expired. Meanwhile it calls
// tell with each event: sent, and status once the transaction is processed. It is an error if the
// node refuses the transaction, and the chain does not have it.
func (s *Server) sendAndFollow(ctx context.Context, o *sendOrder, tell func(event string, what any)) (*Sent, error) {
	began, q := time.Now(), &o.quote
	out := &Sent{Signature: o.signature, Err: json.RawMessage("null"), AmountIn: "0", AmountOut: "0", Quoted: QuotedAmounts{
		decimal(q.AmountIn), decimal(q.MaxAmountIn), decimal(q.AmountOut), decimal(q.MinAmountOut),
	}}
	if err := s.submit(ctx, o, false); err != nil {
		if s.refused(ctx, o, err) {
			var told *solana.RPCError
			errors.As(err, &told)
			s.metrics.sent(o, sentRefused)
			e := newError(fiber.StatusUnprocessableEntity, "the node refuses the transaction: %s", told.Message)
			e.Code = codeRefused
			return nil, e
		}
		// The transaction may be on its way all the same, so it is followed.
		s.deps.Logger.Debug("the outcome of sending is not known", "err", err)
	}
	tell("sent", map[string]string{"signature": o.signature})
	out.Status = s.follow(ctx, o, out, tell)
	out.TookMs = time.Since(began).Milliseconds()
	s.metrics.sent(o, out.Status)
	if out.SlippageBps != nil {
		s.metrics.realised(o, *out.SlippageBps)
	}
	return out, nil
}

// submit sends the transaction. If again is set, it was sent before, and the node sends it without
// a simulation.
func (s *Server) submit(ctx context.Context, o *sendOrder, again bool) error {
	options := map[string]any{"encoding": "base64", "skipPreflight": again, "preflightCommitment": solana.Processed}
	return s.sender().Call(ctx, "sendTransaction", []any{base64.StdEncoding.EncodeToString(o.wire), options}, nil)
}

// refused returns whether an error of submit is a refusal, so that the client may sign another
// swap. The client may have sent this one before: then the node refuses it because the chain has
// it, or because its blockhash is over. So it is no refusal unless the chain is known not to have
// it. A node without history knows the last blocks, in which a transaction lies whose blockhash is
// not over.
func (s *Server) refused(ctx context.Context, o *sendOrder, told error) bool {
	if !solana.TransactionRefused(told) {
		return false
	}
	now, _, err := s.statusOf(ctx, o, true)
	var rpc *solana.RPCError
	if errors.As(err, &rpc) && rpc.Code == solana.CodeHistoryNotAvailable && !solana.BlockhashOver(told) {
		now, _, err = s.statusOf(ctx, o, false)
	}
	return err == nil && now == nil
}

func (s *Server) sender() Sender {
	if s.deps.Sender != nil {
		return s.deps.Sender
	}
	return s.deps.RPC
}

// status is the status of a transaction in an answer of getSignatureStatuses.
type status struct {
	Slot               uint64          `json:"slot"`
	Err                json.RawMessage `json:"err"`
	ConfirmationStatus string          `json:"confirmationStatus"`
}

// statusOf returns the status of the transaction, nil if it has none, and the slot of the view from
// which the node answers. If history is set, the node also looks for it among older blocks than the
// last 300.
func (s *Server) statusOf(ctx context.Context, o *sendOrder, history bool) (now *status, slot uint64, err error) {
	params := []any{[]string{o.signature}}
	if history {
		params = append(params, map[string]any{"searchTransactionHistory": true})
	}
	var statuses struct {
		Context struct {
			Slot uint64 `json:"slot"`
		} `json:"context"`
		Value []*status `json:"value"`
	}
	if err := s.deps.RPC.Call(ctx, "getSignatureStatuses", params, &statuses); err != nil {
		return nil, 0, err
	}
	if len(statuses.Value) != 1 {
		return nil, 0, fmt.Errorf("%w: %d statuses of one signature", solana.ErrMalformed, len(statuses.Value))
	}
	return statuses.Value[0], statuses.Context.Slot, nil
}

// follow waits for the transaction and returns what came of it.
func (s *Server) follow(ctx context.Context, o *sendOrder, out *Sent, tell func(event string, what any)) string {
	tick, sent, told := time.NewTicker(lookEvery), time.Now(), ""
	defer tick.Stop()
	// over is the first slot that was seen whose height is above the transaction's last valid one.
	// If a view of that slot or a later one has no status of the transaction, none ever will. The
	// view's slot counts, because the status may come from another node than the height did, and
	// that node may be behind.
	over := uint64(math.MaxUint64)
	for {
		select {
		case <-ctx.Done():
			return sentUnknown
		case <-s.stopping:
			return sentUnknown
		case <-tick.C:
		}
		var tip struct {
			Slot   uint64 `json:"absoluteSlot"`
			Height uint64 `json:"blockHeight"`
		}
		if s.deps.RPC.Call(ctx, "getEpochInfo", []any{map[string]any{"commitment": solana.Confirmed}}, &tip) != nil {
			continue
		}
		if tip.Height > o.quote.LastValidBlockHeight {
			over = min(over, tip.Slot)
		}
		now, slot, err := s.statusOf(ctx, o, over != math.MaxUint64)
		if err != nil {
			continue
		}
		switch {
		case now == nil && slot >= over:
			return sentExpired
		case now == nil && time.Since(sent) >= resendEvery:
			_ = s.submit(ctx, o, true) // the next look tells what came of it
			sent = time.Now()
		case now == nil:
		case now.ConfirmationStatus == string(solana.Processed):
			if told != now.ConfirmationStatus {
				told = now.ConfirmationStatus
				tell("status", map[string]any{"status": told, "slot": now.Slot})
			}
		default:
			if s.settled(ctx, o, out) {
				if string(out.Err) != "null" {
					return sentFailed
				}
				return sentLanded
			}
		}
	}
}

// landed is a transaction in a block, as getTransaction tells it.
type landed struct {
	Slot uint64 `json:"slot"`
	Meta *struct {
		Err          json.RawMessage `json:"err"`
		Fee          uint64          `json:"fee"`
		PreBalances  []uint64        `json:"preBalances"`
		PostBalances []uint64        `json:"postBalances"`
		PreTokens    []tokenBalance  `json:"preTokenBalances"`
		PostTokens   []tokenBalance  `json:"postTokenBalances"`
		Loaded       struct {
			Writable []string `json:"writable"`
			Readonly []string `json:"readonly"`
		} `json:"loadedAddresses"`
	} `json:"meta"`
	Transaction struct {
		Message struct {
			AccountKeys []string `json:"accountKeys"`
		} `json:"message"`
	} `json:"transaction"`
}

type tokenBalance struct {
	AccountIndex int    `json:"accountIndex"`
	Mint         string `json:"mint"`
	Owner        string `json:"owner"`
	Amount       struct {
		Amount string `json:"amount"`
	} `json:"uiTokenAmount"`
}

// settled reads the transaction from the node, and sets the fields of out that follow from it. It
// returns false if the node does not have the transaction yet.
func (s *Server) settled(ctx context.Context, o *sendOrder, out *Sent) bool {
	var l *landed
	options := map[string]any{"encoding": "json", "commitment": solana.Confirmed, "maxSupportedTransactionVersion": 1}
	if err := s.deps.RPC.Call(ctx, "getTransaction", []any{o.signature, options}, &l); err != nil || l == nil || l.Meta == nil {
		return false
	}
	out.Slot, out.Fee = &l.Slot, l.Meta.Fee
	if len(l.Meta.Err) > 0 {
		out.Err = l.Meta.Err
	}
	if string(out.Err) != "null" {
		return true
	}
	sold, got := l.moved(o, o.quote.SourceMint, false).shrank(), l.moved(o, o.quote.TargetMint, true).grew()
	out.AmountIn, out.AmountOut = decimal(sold), decimal(got)
	q := &o.quote
	bps := 0.0
	if q.MaxAmountIn > q.AmountIn && q.AmountIn > 0 { // only exact_out has a limit above AmountIn
		bps = (float64(sold)/float64(q.AmountIn) - 1) * maxSlippage
	} else if q.AmountOut > 0 {
		bps = (1 - float64(got)/float64(q.AmountOut)) * maxSlippage
	}
	bps = math.Round(bps*100) / 100
	out.SlippageBps = &bps
	return true
}

// balance is a balance before and after a transaction. Both take all 64 bits, so their difference
// has no sign.
type balance struct{ was, is uint64 }

// grew and shrank return by how much the balance is greater or less after the transaction; 0 if it
// is not.
func (b balance) grew() uint64   { return b.is - min(b.is, b.was) }
func (b balance) shrank() uint64 { return b.was - min(b.is, b.was) }

// moved returns the user's balance of a mint. If bought is set, and the swap pays another account
// in place of the user's, it is the balance of that account. For SOL it is the lamports of the user
// and of his token accounts together, so that a rent which he pays for one of these accounts does
// not count.
func (l *landed) moved(o *sendOrder, address string, bought bool) (sum balance) {
	keys := append(append(l.Transaction.Message.AccountKeys, l.Meta.Loaded.Writable...), l.Meta.Loaded.Readonly...)
	user, native := o.user.String(), address == mint.WrappedSOL.String()
	addLamports := func(i int) {
		if i < len(l.Meta.PreBalances) && i < len(l.Meta.PostBalances) {
			sum.was += l.Meta.PreBalances[i]
			sum.is += l.Meta.PostBalances[i]
		}
	}
	if bought && o.native != nil {
		for i, key := range keys {
			if key == o.native.String() {
				addLamports(i)
			}
		}
		return sum
	}
	own := map[int]bool{}
	add := func(list []tokenBalance, to *uint64) {
		for _, b := range list {
			if b.AccountIndex < 0 || b.AccountIndex >= len(keys) {
				continue
			}
			mine := b.Owner == user
			if bought && o.destination != nil {
				mine = keys[b.AccountIndex] == o.destination.String()
			}
			own[b.AccountIndex] = own[b.AccountIndex] || mine
			if amount, err := strconv.ParseUint(b.Amount.Amount, 10, 64); err == nil && mine && b.Mint == address {
				*to += amount
			}
		}
	}
	add(l.Meta.PreTokens, &sum.was)
	add(l.Meta.PostTokens, &sum.is)
	if !native || bought && o.destination != nil {
		return sum
	}
	sum = balance{}
	for i, key := range keys {
		if key == user || own[i] {
			addLamports(i)
		}
	}
	if o.pays {
		sum.is += l.Meta.Fee
	}
	return sum
}

// streamSend answers with what happens as server-sent events: sent, status, and result or error at
// the end.
func (s *Server) streamSend(c *fiber.Ctx, o *sendOrder, client string, pass keys.Pass) error {
	lease, refused := pass.Open("stream")
	if refused != nil {
		s.streams.Give(client)
		refused.Headers(c.Set)
		return newError(refused.Status, "%s", refused)
	}
	st := &stream{server: s, client: client, conn: c.Context().Conn(), lease: lease}
	c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	c.Set("X-Accel-Buffering", "no")
	s.metrics.streams.Inc()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer func() {
			if p := recover(); p != nil {
				s.deps.Logger.Error("stream failed", "err", fmt.Sprintf("panic: %v: %s", p, debug.Stack()))
			}
			lease.Close()
			s.streams.Give(client)
			s.metrics.streams.Dec()
		}()
		tell := func(event string, what any) {
			data, _ := json.Marshal(what) // what can always be encoded
			_ = st.event(w, event, data)  // followed even if nobody listens any more
		}
		ctx, cancel := context.WithTimeout(context.Background(), sendPatience)
		defer cancel()
		result, err := s.sendAndFollow(ctx, o, tell)
		if err != nil {
			tell("error", public(err))
			return
		}
		tell("result", result)
	})
	return nil
}
