package accounts_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// held is what the tables know in a test.
type held map[pubkey.Key]accounts.Balance

func (h held) Program(_ context.Context, mint pubkey.Key) (pubkey.Key, bool, error) {
	return tokenaccount.ProgramToken, mint == baseMint, nil
}

func (h held) Balances(context.Context, pubkey.Key) (map[pubkey.Key]accounts.Balance, error) {
	return h, nil
}

var baseMint = pubkey.Key{1, 31: 1}

// written is a producer that keeps messages.
type written struct {
	messages []*eventspb.BalanceChanges
	fail     error
}

func (w *written) Produce(_ context.Context, records ...kafka.Record) error {
	for _, record := range records {
		if record.Topic != schemas.TopicBalances || string(record.Key) != baseMint.String() {
			return fmt.Errorf("a record of %s with key %s", record.Topic, record.Key)
		}
		m := new(eventspb.BalanceChanges)
		if err := proto.Unmarshal(record.Value, m); err != nil {
			return err
		}
		w.messages = append(w.messages, m)
	}
	return w.fail
}

func listed(key, mint, owner pubkey.Key, amount uint64, state byte) string {
	data := make([]byte, 165)
	copy(data, mint[:])
	copy(data[32:], owner[:])
	binary.LittleEndian.PutUint64(data[64:], amount)
	data[108] = state
	return fmt.Sprintf(`{"pubkey":"%s","account":{"owner":"%s","data":["%s","base64"],"lamports":1,"executable":false,"rentEpoch":0}}`,
		key, schemas.ProgramToken, base64.StdEncoding.EncodeToString(data))
}

func readBase(t *testing.T, known held, out *written, answers ...string) (accounts.Base, error) {
	t.Helper()
	calls := 0
	return readFrom(t, known, out, func(string) string {
		calls++
		return answers[min(calls, len(answers))-1]
	})
}

// readFrom reads from a server that answers a request with a body.
func readFrom(t *testing.T, known held, out *written, answer func(body string) string) (accounts.Base, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, answer(string(body)))
	}))
	defer server.Close()
	cfg := accounts.Config{Endpoints: []string{server.URL}}.WithWaits(time.Millisecond, time.Minute).WithAttempts(2)
	reader, err := accounts.NewHolders(cfg, accounts.Deps{Producer: out, Logger: slog.New(slog.DiscardHandler)}, known)
	require.NoError(t, err)
	return reader.Read(t.Context(), baseMint)
}

// TestBaseOfAMint: a read writes each account that is open, closes those that were known and are no
// more, and ends with the message that says that it is whole.
func TestBaseOfAMint(t *testing.T) {
	key := func(n byte) pubkey.Key { return pubkey.Key{n, 31: 9} }
	elements := []string{listed(key(3), baseMint, key(7), 30, 1), listed(key(2), baseMint, key(8), 20, 2), listed(key(4), baseMint, key(8), 0, 0)}
	answer := `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":77},"value":[` + strings.Join(elements, ",") + `]}}`
	out := &written{}
	base, err := readBase(t, held{key(2): {Owner: key(7), Amount: 5}, key(5): {Owner: key(6), Amount: 9}}, out, `{"jsonrpc":"2.0"`, answer)
	require.NoError(t, err, "an answer that is cut off is asked for again")
	require.Equal(t, accounts.Base{FirstSlot: 77, Slot: 77, Accounts: 2, Closed: 1}, base)
	require.Len(t, out.messages, 2)
	facts, last := out.messages[0], out.messages[1]
	require.True(t, facts.GetIsRead())
	require.False(t, facts.GetIsWhole())
	require.EqualValues(t, 77, facts.GetSlot())
	require.Len(t, facts.GetChanges(), 3)
	for i, want := range []struct {
		account       pubkey.Key
		before, after string
	}{{key(2), key(7).String() + " 5", key(8).String() + " 20"}, {key(3), "", key(7).String() + " 30"}, {key(5), key(6).String() + " 9", ""}} {
		change := facts.GetChanges()[i]
		require.Equal(t, want.account.Bytes(), change.GetAccount())
		require.Equal(t, want.before, stateText(change.GetBefore()))
		require.Equal(t, want.after, stateText(change.GetAfter()))
	}
	require.True(t, facts.GetChanges()[0].GetAfter().GetIsFrozen())
	require.False(t, facts.GetChanges()[1].GetAfter().GetIsFrozen())
	require.True(t, last.GetIsWhole())
	require.Empty(t, last.GetChanges())
}

func stateText(s *eventspb.BalanceState) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", pubkey.Key(s.GetOwner()), s.GetAmount())
}

// page is an answer of getProgramAccountsV2; no next is the last one.
func page(slot uint64, next string, elements ...string) string {
	cursor := "null"
	if next != "" {
		cursor = `"` + next + `"`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":%d},"value":{"accounts":[%s],"paginationKey":%s}}}`, slot, strings.Join(elements, ","), cursor)
}

// TestBaseInPages: each account is a fact at the slot of its page, the later one if a server sends
// it twice; what is no more is closed at the lowest slot; the last message tells both ends.
func TestBaseInPages(t *testing.T) {
	key := func(n byte) pubkey.Key { return pubkey.Key{n, 31: 9} }
	pages := map[string]string{
		"":  page(80, "b", listed(key(2), baseMint, key(7), 20, 1), listed(key(3), baseMint, key(7), 30, 1)),
		"b": page(78, "c"), // a server that is behind, and has nothing
		"c": page(83, "", listed(key(3), baseMint, key(8), 31, 1)),
	}
	broken := true
	out := &written{}
	base, err := readFrom(t, held{key(5): {Owner: key(6), Amount: 9}}, out, func(body string) string {
		require.Contains(t, body, `"getProgramAccountsV2"`)
		require.Contains(t, body, `"limit":10000`)
		_, cursor, _ := strings.Cut(body, `"paginationKey":"`)
		answer := pages[strings.Split(cursor, `"`)[0]]
		if broken && strings.HasPrefix(cursor, "c") {
			broken = false
			return answer[:len(answer)-20]
		}
		return answer
	})
	require.NoError(t, err, "a page that is cut off is asked for again")
	require.Equal(t, accounts.Base{FirstSlot: 78, Slot: 83, Accounts: 2, Closed: 1}, base)
	var got []string
	for _, m := range out.messages {
		require.True(t, m.GetIsRead())
		for _, c := range m.GetChanges() {
			got = append(got, fmt.Sprintf("%d %d: %s", m.GetSlot(), c.GetAccount()[0], stateText(c.GetAfter())))
		}
		if m.GetIsWhole() {
			got = append(got, fmt.Sprintf("%d to %d", m.GetFirstSlot(), m.GetSlot()))
		}
	}
	require.Equal(t, []string{"78 5: ", "80 2: " + key(7).String() + " 20", "83 3: " + key(8).String() + " 31", "78 to 83"}, got)
}

// TestServersWithoutPages: one that does not know pages, or tells no slot of one, is asked for all
// accounts in one answer.
func TestServersWithoutPages(t *testing.T) {
	whole := `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":77},"value":[` + listed(pubkey.Key{3}, baseMint, pubkey.Key{7}, 1, 1) + `]}}`
	for _, refusal := range []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"accounts":[],"paginationKey":null}}`,
	} {
		out := &written{}
		base, err := readFrom(t, held{}, out, func(body string) string {
			if strings.Contains(body, `"getProgramAccountsV2"`) {
				return refusal
			}
			require.NotContains(t, body, "limit")
			return whole
		})
		require.NoError(t, err)
		require.Equal(t, accounts.Base{FirstSlot: 77, Slot: 77, Accounts: 1}, base)
		require.Zero(t, out.messages[len(out.messages)-1].GetFirstSlot())
	}
}

// TestPagesWithoutEnd: a server that sends cursors for ever does not hold a read up.
func TestPagesWithoutEnd(t *testing.T) {
	for _, step := range []int{0, 1} {
		calls, out := 0, &written{}
		_, err := readFrom(t, held{}, out, func(string) string {
			calls += step
			return page(77, "c"+strconv.Itoa(calls), listed(pubkey.Key{3}, baseMint, pubkey.Key{7}, 1, 1))
		})
		require.ErrorContains(t, err, "the pages have no end")
		require.Empty(t, out.messages)
	}
	_, err := accounts.NewHolders(accounts.Config{Endpoints: []string{"http://127.0.0.1:1"}, PageLimit: 10_001}, accounts.Deps{}, held{})
	require.ErrorContains(t, err, "page limit")
}

// TestNoBase: what cannot be believed, or cannot be written, is no base.
func TestNoBase(t *testing.T) {
	other := `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":77},"value":[` + listed(pubkey.Key{3}, pubkey.Key{2}, pubkey.Key{7}, 1, 1) + `]}}`
	for reason, answer := range map[string]string{
		"is not of the mint":    other,
		"does not say its slot": `{"jsonrpc":"2.0","id":1,"result":[]}`,
	} {
		out := &written{}
		_, err := readBase(t, held{}, out, answer)
		require.ErrorContains(t, err, reason)
		require.Empty(t, out.messages)
	}
	full := &written{fail: errors.New("no room")}
	_, err := readBase(t, held{}, full, `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":77},"value":[]}}`)
	require.ErrorContains(t, err, "no room")

	reader, err := accounts.NewHolders(accounts.Config{Endpoints: []string{"http://127.0.0.1:1"}}, accounts.Deps{Producer: full, Logger: slog.New(slog.DiscardHandler)}, held{})
	require.NoError(t, err)
	_, err = reader.Read(t.Context(), pubkey.Key{5})
	require.ErrorIs(t, err, accounts.ErrUnknownMint)
}
