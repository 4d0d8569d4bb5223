package decode_test

import (
	"encoding/hex"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// The fuzz tests take an instruction's data and accounts. Whatever they are: no panic, the same
// events twice, each event a valid protobuf message no larger than its input warrants, and an
// instruction of a program we know is never lost without a word.

func FuzzSPLToken(f *testing.F)  { fuzzProgram(f, schemas.ProgramToken) }
func FuzzToken2022(f *testing.F) { fuzzProgram(f, schemas.ProgramToken2022) }
func FuzzMetaplex(f *testing.F)  { fuzzProgram(f, schemas.ProgramMetaplex) }

func fuzzProgram(f *testing.F, program string) {
	for _, v := range loadClients(f) {
		data, err := hex.DecodeString(v.Data)
		if err != nil {
			f.Fatal(err)
		}
		if v.Program == program {
			f.Add(data, []byte{1, 2, 3, 4, 5, 6, 7}, uint8(1))
		}
	}
	for _, call := range svmCalls(f, program) {
		f.Add(call.Data, call.Accounts, uint8(2))
	}
	f.Add(joined([]byte{255}, part(3, amount(7, 1)...), part(3, amount(8, 1)...)), []byte{1, 2, 3, 2, 1, 3}, uint8(1))
	f.Add([]byte{255}, []byte{}, uint8(0))
	id := key(f, program)
	f.Fuzz(func(t *testing.T, data, accounts []byte, mintAt uint8) {
		tx := &chain.Transaction{Index: 1, Keys: []pubkey.Key{id}}
		for i := range 12 {
			tx.Keys = append(tx.Keys, pubkey.Key{byte(i), 1})
		}
		tx.PostBalances = []chain.TokenBalance{{AccountIndex: int(mintAt), Mint: pubkey.Key{mintAt, 1}}}
		tx.Instructions = []chain.Instruction{{
			Call:  chain.Call{Data: data, Accounts: accounts},
			Inner: []chain.Call{{Data: data, Accounts: accounts}, {ProgramIndex: -1}, {ProgramIndex: 1 << 30}},
		}}
		seen := &recorder{}
		events := decode.New(seen).Decode(tx, 9, 9)
		if len(events)+len(seen.ignored) == 0 {
			t.Fatal("the instruction is neither decoded nor ignored nor kept")
		}
		again := decode.New(nil).Decode(tx, 9, 9)
		for i, event := range events {
			checkEvent(t, event, len(data))
			if !proto.Equal(event, again[i]) {
				t.Fatalf("decoded differently the second time:\n%v\n%v", event, again[i])
			}
		}
	})
}

// svmCalls are the invocations of a program in the fixtures.
func svmCalls(f *testing.F, program string) []chain.Call {
	f.Helper()
	var calls []chain.Call
	for _, fixture := range loadSVM(f) {
		for i := range fixture.Steps {
			tx := &fixture.Steps[i].block(f).Transactions[0]
			for j := range tx.Instructions {
				for _, call := range append([]chain.Call{tx.Instructions[j].Call}, tx.Instructions[j].Inner...) {
					if id, ok := tx.Program(&call); ok && text(id[:]) == program {
						calls = append(calls, call)
					}
				}
			}
		}
	}
	return calls
}

func checkEvent(t *testing.T, event *eventspb.TokenEvent, dataLength int) {
	raw, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	if limit := 2*dataLength + 256*34 + 1024; len(raw) > limit {
		t.Fatalf("event of %d bytes from %d bytes of data", len(raw), dataLength)
	}
	if event.GetRaw() == nil && len(event.GetMint()) != 32 && len(event.GetMetadataSet().GetMetadataAccount()) != 32 {
		t.Fatalf("event without a mint: %v", event)
	}
	if schemas.KindOf(event) == schemas.KindUnknown || (event.GetRaw() == nil) != (event.GetInstruction() != "") {
		t.Fatalf("event without a kind or name: %v", event)
	}
}

// FuzzTransaction takes the shape of a transaction apart: counts and indexes that do not fit
// together.
func FuzzTransaction(f *testing.F) {
	f.Add([]byte{7, 1, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 1, 2}, 0, 0, 3, 1)
	f.Add([]byte{15, 0, 0, 0, 0}, []byte{9, 255}, 2, -1, 300, -5)
	f.Fuzz(func(t *testing.T, data, accounts []byte, program, balanceAt, keys, index int) {
		tx := &chain.Transaction{Index: index}
		programs := []string{schemas.ProgramToken, schemas.ProgramToken2022, schemas.ProgramMetaplex}
		for i := range min(max(keys, 0), 600) {
			if i < len(programs) {
				tx.Keys = append(tx.Keys, key(t, programs[i]))
			} else {
				tx.Keys = append(tx.Keys, pubkey.Key{byte(i), byte(i >> 8)})
			}
		}
		tx.PreBalances = []chain.TokenBalance{{AccountIndex: balanceAt, Mint: pubkey.Key{9}}}
		for range 3 {
			tx.Instructions = append(tx.Instructions, chain.Instruction{
				Call: chain.Call{ProgramIndex: program, Data: data, Accounts: accounts},
			})
		}
		decode.New(nil).Decode(tx, 1, 1)
		decode.Sightings(tx)
	})
}

func BenchmarkDecodeBlock(b *testing.B) {
	for _, name := range []string{"254170887.json.gz", "361774429.json.gz"} {
		b.Run(name, func(b *testing.B) {
			block := loadBlock(b, "data/blocks/"+name)
			d := decode.New(nil)
			nonVote := 0
			for i := range block.Transactions {
				if !block.Transactions[i].Vote {
					nonVote++
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for i := range block.Transactions {
					d.Decode(&block.Transactions[i], block.Slot, block.BlockTime)
					decode.Sightings(&block.Transactions[i])
				}
			}
			b.ReportMetric(float64(nonVote*b.N)/b.Elapsed().Seconds(), "non-vote-tx/s")
		})
	}
}
