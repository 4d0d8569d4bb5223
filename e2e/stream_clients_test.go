package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// streamClient is a client of the stream that subscribes again after each break, from the slot that
// it was at.
type streamClient struct {
	grpc bool
	// include are the addresses of which a transaction must name one; empty = all transactions.
	include []string
	// target tells where the stream is now.
	target func() string

	mu sync.Mutex
	// got are the slots of what came, by signature, of all connections.
	got  map[string]uint64
	gaps [][2]uint64
	// at is the highest slot that it was told of.
	at          uint64
	connections int
	// problem is what no client should be told.
	problem error
}

// run stays subscribed until ctx ends.
func (c *streamClient) run(ctx context.Context) {
	for ctx.Err() == nil {
		subscribe := c.overWebSocket
		if c.grpc {
			subscribe = c.overGRPC
		}
		if fatal := (*streamProblem)(nil); errors.As(subscribe(ctx), &fatal) {
			c.mu.Lock()
			c.problem = errors.Join(c.problem, fatal)
			c.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// streamProblem is an error that ends a client for good.
type streamProblem struct{ text string }

func (p *streamProblem) Error() string { return p.text }

// session is what came over one connection.
type session struct {
	*streamClient
	seen map[string]bool
}

// begin counts a connection, and tells the slot to subscribe from.
func (c *streamClient) begin() (*session, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connections++
	return &session{c, map[string]bool{}}, c.at
}

// transaction notes one, which must be the first of its kind on this connection.
func (s *session) transaction(signature string, slot uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := fmt.Sprintf("%s in slot %d", signature, slot)
	if s.seen[place] {
		return &streamProblem{"twice on one connection: " + place}
	}
	s.seen[place] = true
	s.got[signature] = slot
	s.at = max(s.at, slot)
	return nil
}

func (s *session) gap(first, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaps = append(s.gaps, [2]uint64{first, last})
}

func (c *streamClient) overGRPC(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := grpc.NewClient(c.target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := pb.NewGeyserClient(conn).Subscribe(ctx)
	if err != nil {
		return err
	}
	s, from := c.begin()
	if err := stream.Send(&pb.SubscribeRequest{
		Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"mine": {AccountInclude: c.include}},
		Slots:        map[string]*pb.SubscribeRequestFilterSlots{"mintlake.gaps": {}},
		FromSlot:     &from,
	}); err != nil {
		return err
	}
	for {
		update, err := stream.Recv()
		if code := grpcstatus.Code(err); code == codes.OutOfRange || code == codes.InvalidArgument {
			return &streamProblem{fmt.Sprintf("from slot %d: %v", from, err)}
		}
		if err != nil {
			return err
		}
		if t := update.GetTransaction(); t != nil {
			err = s.transaction(base58.Encode(t.GetTransaction().GetSignature()), t.GetSlot())
		}
		if err != nil {
			return err
		}
		if slot := update.GetSlot(); slot.GetStatus() == pb.SlotStatus_SLOT_DEAD {
			s.gap(slot.GetParent(), slot.GetSlot())
		}
	}
}

// streamMessage is what a WebSocket of the stream says.
type streamMessage struct {
	Method string
	Error  *struct {
		Code    int
		Message string
	}
	Params struct {
		Result struct {
			Signature                 string
			Slot, FirstSlot, LastSlot uint64
		}
	}
}

func (c *streamClient) overWebSocket(ctx context.Context) error {
	conn, response, err := websocket.Dial(ctx, "ws://"+c.target(), nil)
	if err != nil {
		return err
	}
	if response.Body != nil {
		defer response.Body.Close()
	}
	defer conn.CloseNow()
	conn.SetReadLimit(16 << 20)
	s, from := c.begin()
	call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "transactionSubscribe",
		"params": []any{map[string]any{"accountInclude": c.include}, map[string]any{"fromSlot": from}}})
	if err != nil {
		return err
	}
	if err := conn.Write(ctx, websocket.MessageText, call); err != nil {
		return err
	}
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var message streamMessage
		if err := json.Unmarshal(text, &message); err != nil {
			return &streamProblem{err.Error()}
		}
		result := message.Params.Result
		switch {
		case message.Error != nil && message.Error.Code != -32005: // as many replays as may be
			return &streamProblem{fmt.Sprintf("from slot %d: %s", from, message.Error.Message)}
		case message.Error != nil:
			return errors.New(message.Error.Message)
		case message.Method == "transactionNotification":
			if err := s.transaction(result.Signature, result.Slot); err != nil {
				return err
			}
		case message.Method == "gapNotification":
			s.gap(result.FirstSlot, result.LastSlot)
		}
	}
}

// chainTransaction is what the stream must deliver of the chain.
type chainTransaction struct {
	slot      uint64
	signature string
	accounts  map[string]bool
}

// streamed are the chain's transactions that touch the programs of the stream, in order.
func streamed(node *demo.Node, first, last uint64) (list []chainTransaction) {
	for _, slot := range node.Ledger().Slots(first, last, int(last-first)+1, ledger.Confirmed) {
		block, _, ok := node.Ledger().Block(slot)
		if !ok {
			continue
		}
		for _, tx := range block.Txs {
			accounts := accountsOf(tx)
			if !tx.Vote && (accounts[schemas.ProgramToken] || accounts[schemas.ProgramToken2022] || accounts[schemas.ProgramMetaplex]) {
				list = append(list, chainTransaction{slot, tx.Signatures[0].String(), accounts})
			}
		}
	}
	return list
}

func accountsOf(tx *chain.Tx) map[string]bool {
	keys := tx.Message.AccountKeys() // those of lookup tables among them
	accounts := make(map[string]bool, len(keys))
	for _, key := range keys {
		accounts[key.String()] = true
	}
	return accounts
}

// wanted are those that the client's filter selects, with their slots.
func (c *streamClient) wanted(list []chainTransaction) map[string]uint64 {
	out := map[string]uint64{}
	for _, t := range list {
		if len(c.include) == 0 || slices.ContainsFunc(c.include, func(a string) bool { return t.accounts[a] }) {
			out[t.signature] = t.slot
		}
	}
	return out
}

// missing is how many of the transactions neither came nor are in a gap that the client was told.
// inGaps is how many did not come and are in one.
func (c *streamClient) missing(wanted map[string]uint64) (missing, inGaps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for signature, slot := range wanted {
		if got, came := c.got[signature]; came && got == slot {
			continue
		}
		if slices.ContainsFunc(c.gaps, func(g [2]uint64) bool { return g[0] <= slot && slot <= g[1] }) {
			inGaps++
		} else {
			missing++
		}
	}
	return missing, inGaps
}

// lives are how many connections it had, and what it should not have been told.
func (c *streamClient) lives() (connections int, problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections, c.problem
}

// unwanted are transactions that came and that the chain does not have for the client's filter.
func (c *streamClient) unwanted(wanted map[string]uint64, last uint64) (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for signature, slot := range c.got {
		if want, ok := wanted[signature]; slot <= last && (!ok || want != slot) {
			list = append(list, fmt.Sprintf("%s in slot %d", signature, slot))
		}
	}
	return list
}

// oldestSlot waits until a replay can begin, and returns the slot.
func oldestSlot(t testing.TB, target string) uint64 {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		info, err := pb.NewGeyserClient(conn).SubscribeReplayInfo(t.Context(), &pb.SubscribeReplayInfoRequest{})
		if err == nil && info.FirstAvailable != nil {
			return info.GetFirstAvailable()
		}
	}
	t.Fatal("the stream has no slot")
	return 0
}

// streamTarget is the host and port of a gateway's stream.
func streamTarget(i *instance) string { return strings.TrimPrefix(i.addresses["stream"], "http://") }
