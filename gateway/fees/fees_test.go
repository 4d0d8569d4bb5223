package fees

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/internal/kafka"
)

func key(n byte) []byte { return append([]byte{n}, make([]byte, 31)...) }

func address(n byte) string { return base58.Encode(key(n)) }

// record is a transaction signed by 1, that writes to the accounts and to loaded, reads 200, and
// offers price; 0 offers none.
func record(slot, price uint64, loaded byte, accounts ...byte) kafka.Record {
	keys := [][]byte{key(1)}
	for _, n := range accounts {
		keys = append(keys, key(n))
	}
	keys = append(keys, key(200), computeBudget[:])
	message := &pb.Message{AccountKeys: keys, Header: &pb.MessageHeader{NumRequiredSignatures: 1, NumReadonlyUnsignedAccounts: 2}}
	message.Instructions = []*pb.CompiledInstruction{{ProgramIdIndex: 999}, {ProgramIdIndex: uint32(len(keys) - 1), Data: []byte{2, 0, 0, 0, 0}}}
	if price > 0 {
		message.Instructions = append(message.Instructions, &pb.CompiledInstruction{
			ProgramIdIndex: uint32(len(keys) - 1), Data: binary.LittleEndian.AppendUint64([]byte{setComputeUnitPrice}, price),
		})
	}
	value, err := proto.Marshal(&pb.SubscribeUpdateTransaction{Slot: slot, Transaction: &pb.SubscribeUpdateTransactionInfo{
		Transaction: &pb.Transaction{Message: message}, Meta: &pb.TransactionStatusMeta{LoadedWritableAddresses: [][]byte{key(loaded)}},
	}})
	if err != nil {
		panic(err)
	}
	return kafka.Record{Value: value}
}

func estimate(t *testing.T, s *Server, ask jsonrpc.Ask, params string) (string, error) {
	t.Helper()
	result, err := s.Answer(t.Context(), method, json.RawMessage(params), ask)
	return string(result), err
}

func noUpstream(context.Context, string, json.RawMessage) (json.RawMessage, *jsonrpc.CallError, error) {
	return nil, nil, errors.New("asked")
}

// A level is a percentile of what the transactions that wrote to the account paid, the highest of
// the accounts named.
func TestLevelsArePercentilesOfWhatWasPaid(t *testing.T) {
	s := New()
	for i := uint64(1); i <= 100; i++ {
		s.Take(record(1000+i, i*1000, 4, 2))
		s.Take(record(1000+i, i*10, 5, 3))
	}
	all := `,"options":{"includeAllPriorityFeeLevels":true}}]`
	got, err := estimate(t, s, noUpstream, `[{"accountKeys":["`+address(2)+`"]`+all)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeLevels":{"min":1000,"low":25000,"medium":50000,"high":75000,"veryHigh":95000,"unsafeMax":100000}}`, got)
	for _, accounts := range []string{address(3), address(5)} {
		got, err = estimate(t, s, noUpstream, `[{"accountKeys":["`+accounts+`"]}]`)
		require.NoError(t, err)
		require.JSONEq(t, `{"priorityFeeEstimate":500}`, got, "also of a lookup table")
	}
	got, err = estimate(t, s, noUpstream, `[{"accountKeys":["`+address(3)+`","`+address(4)+`"],"options":{"priorityLevel":"VeryHigh"}}]`)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeEstimate":95000}`, got, "the highest of the accounts")
	got, err = estimate(t, s, noUpstream, `[{"accountKeys":["`+address(2)+`"],"options":{"lookbackSlots":10,"recommended":true}}]`)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeEstimate":95000}`, got, "of 91,000 to 100,000")
	got, err = estimate(t, s, noUpstream, `[{}]`)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeEstimate":1000}`, got, "all transactions")
	_, err = estimate(t, s, noUpstream, `[{"accountKeys":["`+address(200)+`"]}]`)
	require.ErrorContains(t, err, "asked", "it was only read")
}

// The topic is not read while nobody asks: what was paid then says nothing about now.
func TestOldPricesDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		for range leastTransactions {
			s.Take(record(7, 5, 4, 2))
		}
		question := `[{"accountKeys":["` + address(2) + `"]}]`
		got, err := estimate(t, s, noUpstream, question)
		require.NoError(t, err)
		require.JSONEq(t, `{"priorityFeeEstimate":5}`, got)
		time.Sleep(time.Hour)
		_, err = estimate(t, s, noUpstream, question)
		require.ErrorContains(t, err, "asked")
	})
}

func TestATransactionWithoutAPricePaysNothing(t *testing.T) {
	s := New()
	for range leastTransactions {
		s.Take(record(7, 0, 4, 2))
	}
	got, err := estimate(t, s, noUpstream, `[{"accountKeys":["`+address(2)+`"],"options":{"priorityLevel":"UnsafeMax"}}]`)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeEstimate":0}`, got)
}

// A transaction of version 1 pays its fee in all, and instructions of the Compute Budget program
// set nothing in it.
func TestThePriceOfVersion1IsItsConfig(t *testing.T) {
	number := func(n uint64) *uint64 { return &n }
	limit := func(n uint32) *uint32 { return &n }
	for _, c := range []struct {
		config *pb.TransactionConfig
		want   string
	}{
		{&pb.TransactionConfig{PriorityFee: number(50_000), ComputeUnitLimit: limit(200_000)}, "250000"},
		{&pb.TransactionConfig{PriorityFee: number(50_000), ComputeUnitLimit: limit(0)}, "0"},
		{&pb.TransactionConfig{PriorityFee: number(50_000)}, "0"},
		{&pb.TransactionConfig{}, "0"},
	} {
		r := record(7, 4_000_000, 4, 2)
		var update pb.SubscribeUpdateTransaction
		require.NoError(t, proto.Unmarshal(r.Value, &update))
		message := update.GetTransaction().GetTransaction().GetMessage()
		message.Versioned, message.Config = true, c.config
		value, err := proto.Marshal(&update)
		require.NoError(t, err)
		s := New()
		for range leastTransactions {
			s.Take(kafka.Record{Value: value})
		}
		got, err := estimate(t, s, noUpstream, `[{"accountKeys":["`+address(2)+`"]}]`)
		require.NoError(t, err)
		require.JSONEq(t, `{"priorityFeeEstimate":`+c.want+`}`, got)
	}
}

// Accounts that the stream does not cover are asked for upstream, and only those.
func TestUncoveredAccountsAreAskedUpstream(t *testing.T) {
	s := New()
	for range leastTransactions {
		s.Take(record(7, 100, 4, 2))
	}
	var asked string
	ask := func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, *jsonrpc.CallError, error) {
		asked = method + " " + string(params)
		return json.RawMessage(`[{"slot":5,"prioritizationFee":9000},{"slot":155,"prioritizationFee":300},{"slot":154,"prioritizationFee":200}]`), nil, nil
	}
	got, err := estimate(t, s, ask, `[{"accountKeys":["`+address(2)+`","`+address(9)+`"],"options":{"priorityLevel":"High"}}]`)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeEstimate":300}`, got)
	require.Equal(t, `getRecentPrioritizationFees [["`+address(9)+`"]]`, asked)
	got, err = estimate(t, New(), ask, `[{}]`)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeEstimate":200}`, got)
	require.Equal(t, `getRecentPrioritizationFees [[]]`, asked)

	var failure *jsonrpc.CallError
	_, err = estimate(t, s, nil, `[{"accountKeys":["`+address(9)+`"]}]`)
	require.ErrorAs(t, err, &failure)
	require.Equal(t, -32005, failure.Code)
	_, err = estimate(t, s, func(context.Context, string, json.RawMessage) (json.RawMessage, *jsonrpc.CallError, error) {
		return json.RawMessage(`{}`), nil, nil
	}, `[{"accountKeys":["`+address(9)+`"]}]`)
	require.ErrorAs(t, err, &failure)
	require.Equal(t, -32005, failure.Code)
}

func TestOldSlotsAreForgotten(t *testing.T) {
	s := New()
	require.False(t, s.Wanted())
	for slot := uint64(1); slot <= 1000; slot++ {
		for range leastTransactions {
			s.Take(record(slot, slot, 4, 2))
		}
	}
	require.Len(t, s.seen.slots, lookback)
	require.Equal(t, lookback*leastTransactions*4, s.seen.count)
	s.Take(record(850, 1, 4, 2)) // one that was read late
	got, err := estimate(t, s, noUpstream, `[{"accountKeys":["`+address(2)+`"],"options":{"priorityLevel":"Min"}}]`)
	require.NoError(t, err)
	require.JSONEq(t, `{"priorityFeeEstimate":851}`, got)
	require.True(t, s.Wanted())

	s.seen.most = 1000
	for slot := range uint64(6) {
		s.seen.add(2000+slot, 1, make([][]byte, 250))
	}
	require.LessOrEqual(t, s.seen.count, 1000)
	require.Len(t, s.seen.slots, 3)
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for params, want := range map[string]string{
		``: "must be", `{}`: "must be", `[]`: "must be", `[{},{}]`: "must be", `[{"accountKeys":[1]}]`: "must be",
		`[{"accountKeys":["x"]}]`: "no address", `[{"accountKeys":["` + strings.Repeat("z", 5000) + `"]}]`: "no address",
		`[{"transaction":"AQ=="}]`: "accountKeys", `[{"options":{"includeVote":true}}]`: "no votes", `[{"options":{"evaluateEmptySlotAsZero":true}}]`: "only transactions",
		`[{"options":{"lookbackSlots":0}}]`: "1 to 150", `[{"options":{"lookbackSlots":151}}]`: "1 to 150", `[{"options":{"priorityLevel":"medium"}}]`: "Medium",
		`[{"accountKeys":[` + strings.Repeat(`"`+address(1)+`",`, 128) + `"` + address(1) + `"]}]`: "at most 128",
	} {
		_, err := estimate(t, New(), noUpstream, params)
		var failure *jsonrpc.CallError
		require.ErrorAs(t, err, &failure, params)
		require.Equal(t, -32602, failure.Code)
		require.Contains(t, failure.Message, want)
	}
}

// FuzzTake: no record of the topic ends the server, and what it leaves is bounded.
func FuzzTake(f *testing.F) {
	f.Add(record(7, 1, 4, 2).Value, []byte(`[{"accountKeys":["`+address(2)+`"]}]`))
	f.Add([]byte{}, []byte(`[{"options":{"lookbackSlots":1,"priorityLevel":"Min"}}]`))
	f.Fuzz(func(t *testing.T, value, params []byte) {
		s := New()
		s.Take(kafka.Record{Value: value})
		s.Take(record(7, 1, 4, 2))
		result, err := s.Answer(t.Context(), method, params, func(context.Context, string, json.RawMessage) (json.RawMessage, *jsonrpc.CallError, error) {
			return value, nil, nil
		})
		if err == nil && !json.Valid(result) {
			t.Fatalf("no JSON: %s", result)
		}
	})
}
