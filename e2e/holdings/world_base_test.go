package holdings

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/layout"
)

// pageSize is how many accounts a page has: few, so that there are many pages.
const pageSize = 3

// readBase reads the accounts of a mint as `mintlake bootstrap holders` does. With known, the
// tables have its accounts as early told them.
func (w *world) readBase(m *worldMint, early, facts *records, known bool) {
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.serve(out, r, m, facts) }))
	defer server.Close()
	tables := &knownOf{w: w, mint: m}
	if known {
		tables.early = early
	}
	reader, err := accounts.NewHolders(accounts.Config{Endpoints: []string{server.URL}}, accounts.Deps{Producer: facts, Logger: slog.New(slog.DiscardHandler)}, tables)
	require.NoError(w.t, err)
	base, err := reader.Read(w.t.Context(), m.key)
	require.NoError(w.t, err)
	w.t.Logf("%d accounts at slots %d to %d, %d closed", base.Accounts, base.FirstSlot, base.Slot, base.Closed)
}

// serve answers getProgramAccountsV2 with one page; then the chain goes on.
func (w *world) serve(out http.ResponseWriter, r *http.Request, m *worldMint, facts *records) {
	var call struct {
		Method string
		Params [2]json.RawMessage
	}
	var config struct{ PaginationKey string }
	if json.NewDecoder(r.Body).Decode(&call) != nil || json.Unmarshal(call.Params[1], &config) != nil || call.Method != "getProgramAccountsV2" {
		http.Error(out, "not understood", http.StatusBadRequest)
		return
	}
	page, next := []any{}, ""
	for _, key := range w.open {
		if layout.MintOf(w.held[key].Data) != m.key || config.PaginationKey != "" && pubkey.Compare(key, pubkey.MustParse(config.PaginationKey)) <= 0 {
			continue
		}
		if len(page) == pageSize {
			break
		}
		a := w.held[key]
		page = append(page, map[string]any{"pubkey": key.String(), "account": map[string]any{
			"owner": a.Owner.String(), "data": []string{base64.StdEncoding.EncodeToString(a.Data[:min(len(a.Data), layout.TokenAccountSize+1)]), "base64"}, "lamports": a.Lamports,
		}})
		next = key.String()
	}
	value := map[string]any{"accounts": page, "paginationKey": nil}
	if len(page) == pageSize {
		value["paginationKey"] = next
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"context": map[string]uint64{"slot": w.slot}, "value": value}})
	if err == nil {
		_, err = out.Write(answer)
	}
	if err != nil {
		w.t.Errorf("write a page: %v", err)
	}
	w.follow(facts, 1+w.random.IntN(2))
}

// Produce implements kafka.RecordProducer.
func (r *records) Produce(_ context.Context, list ...kafka.Record) error {
	r.all = append(r.all, list...)
	return nil
}

// knownOf is what the tables know of a mint: of early, or nothing.
type knownOf struct {
	w     *world
	mint  *worldMint
	early *records
}

func (k *knownOf) Program(context.Context, pubkey.Key) (pubkey.Key, bool, error) {
	return k.mint.program, true, nil
}

func (k *knownOf) Balances(context.Context, pubkey.Key) (map[pubkey.Key]accounts.Balance, error) {
	known := map[pubkey.Key]accounts.Balance{}
	if k.early == nil {
		return known, nil
	}
	for _, record := range k.early.of(k.mint.key.String()) {
		if record.Topic == schemas.TopicBalances {
			if err := enterKnown(known, record.Value); err != nil {
				return nil, fmt.Errorf("known: %w", err)
			}
		}
	}
	return known, nil
}

// enterKnown enters the changes of a message, which come in the order of the chain.
func enterKnown(known map[pubkey.Key]accounts.Balance, value []byte) error {
	message := new(eventspb.BalanceChanges)
	if err := proto.Unmarshal(value, message); err != nil {
		return err
	}
	for _, change := range message.GetChanges() {
		account := pubkey.Key(change.GetAccount())
		if after := change.GetAfter(); after == nil {
			delete(known, account)
		} else {
			known[account] = accounts.Balance{Owner: key(after.GetOwner()), Amount: after.GetAmount()}
		}
	}
	return nil
}
