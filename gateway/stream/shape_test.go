package stream

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
)

var plainShape = shape{"base64", "full"}

// shown is a notification in the default shape.
type shown struct {
	Signature        string
	Slot             uint64
	TransactionIndex uint64
	Transaction      struct {
		Transaction [2]string
		Meta        *jsonMeta
		Version     any
	}
}

// TestShapesOfAMainnetBlock: the same transaction in every encoding. What json and jsonParsed say
// is compared with the signed bytes.
func TestShapesOfAMainnetBlock(t *testing.T) {
	types := map[string]int{}
	for i, m := range block(t) {
		if i%4 != 0 {
			continue
		}
		value, err := proto.Marshal(m)
		require.NoError(t, err)
		parsed, err := parseRecord(kafka.Record{Value: value})
		require.NoError(t, err)
		get := func(encoding string, into any) {
			raw, err := parsed.notification(shape{encoding, "full"})
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(raw, into))
		}
		texts := map[string]shown{}
		for _, encoding := range encodings[:3] {
			var s shown
			get(encoding, &s)
			require.Equal(t, encoding, s.Transaction.Transaction[1])
			texts[encoding] = s
		}
		wire, err := base64.StdEncoding.DecodeString(texts["base64"].Transaction.Transaction[0])
		require.NoError(t, err)
		require.Equal(t, base58.Encode(wire), texts["base58"].Transaction.Transaction[0])
		packed, err := base64.StdEncoding.DecodeString(texts["base64+zstd"].Transaction.Transaction[0])
		require.NoError(t, err)
		unpack, err := zstd.NewReader(nil)
		require.NoError(t, err)
		again, err := unpack.DecodeAll(packed, nil)
		require.NoError(t, err)
		unpack.Close()
		require.Equal(t, wire, again)

		var plain struct {
			Transaction struct{ Transaction jsonPlain }
		}
		get("json", &plain)
		message := m.Transaction.Transaction.Message
		require.Len(t, plain.Transaction.Transaction.Message.AccountKeys, len(message.AccountKeys))
		require.Equal(t, message.Versioned, plain.Transaction.Transaction.Message.Lookups != nil)
		var named struct {
			Transaction struct {
				Meta        jsonMeta
				Transaction struct {
					Message struct {
						AccountKeys  []jsonKey
						Instructions []map[string]any
					}
				}
			}
		}
		get("jsonParsed", &named)
		require.Nil(t, named.Transaction.Meta.Loaded)
		require.Len(t, named.Transaction.Transaction.Message.AccountKeys, len(parsed.accounts))
		keys := allKeys(message, m.Transaction.Meta)
		for j, ix := range named.Transaction.Transaction.Message.Instructions {
			require.Equal(t, keys[message.Instructions[j].ProgramIdIndex], ix["programId"])
			if call, ok := ix["parsed"].(map[string]any); ok {
				types[call["type"].(string)]++
			} else if ix["program"] == nil {
				require.Equal(t, base58.Encode(message.Instructions[j].Data), ix["data"])
			}
		}
	}
	for _, kind := range []string{"transfer", "createIdempotent", "closeAccount", "syncNative"} {
		require.Positive(t, types[kind], kind)
	}
	t.Log(types)
}

// parsedText is what an instruction of a program is with jsonParsed.
func parsedText(t *testing.T, program string, accounts []string, data []byte) string {
	t.Helper()
	keys := append([]string{program}, accounts...)
	indexes := make([]byte, len(accounts))
	for i := range accounts {
		indexes[i] = byte(i + 1)
	}
	out, err := json.Marshal(parsedInstruction(keys, 0, indexes, data, nil))
	require.NoError(t, err)
	return string(out)
}

const (
	tokenProgram  = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	systemProgram = "11111111111111111111111111111111"
)

// TestParsedInstructions holds the shapes to Agave's (transaction-status, tests of parse_token.rs,
// parse_system.rs, parse_associated_token.rs).
func TestParsedInstructions(t *testing.T) {
	u64 := func(head []byte, n uint64, tail ...byte) []byte {
		return append(binary.LittleEndian.AppendUint64(head, n), tail...)
	}
	for want, got := range map[string]string{
		`{"type":"transfer","info":{"source":"s","destination":"d","authority":"a","amount":"42"}}`:                                                                                        parsedText(t, tokenProgram, []string{"s", "d", "a"}, u64([]byte{3}, 42)),
		`{"type":"transfer","info":{"source":"s","destination":"d","multisigAuthority":"m","signers":["x","y"],"amount":"42"}}`:                                                            parsedText(t, tokenProgram, []string{"s", "d", "m", "x", "y"}, u64([]byte{3}, 42)),
		`{"type":"transferChecked","info":{"source":"s","mint":"m","destination":"d","authority":"a","tokenAmount":{"amount":"4200","decimals":2,"uiAmount":42.0,"uiAmountString":"42"}}}`: parsedText(t, tokenProgram, []string{"s", "m", "d", "a"}, u64([]byte{12}, 4200, 2)),
		`{"type":"setAuthority","info":{"mint":"m","authorityType":"freezeAccount","newAuthority":null,"authority":"a"}}`:                                                                  parsedText(t, tokenProgram, []string{"m", "a"}, []byte{6, 1, 0}),
		`{"type":"initializeMint2","info":{"mint":"m","decimals":6,"mintAuthority":"` + systemProgram + `"}}`:                                                                              parsedText(t, tokenProgram, []string{"m"}, append(append([]byte{20, 6}, make([]byte, 32)...), 0)),
		`{"type":"initializeAccount3","info":{"account":"a","mint":"m","owner":"` + systemProgram + `"}}`:                                                                                  parsedText(t, tokenProgram, []string{"a", "m"}, append([]byte{18}, make([]byte, 32)...)),
		`{"type":"transfer","info":{"source":"s","destination":"d","lamports":7}}`:                                                                                                         parsedText(t, systemProgram, []string{"s", "d"}, u64([]byte{2, 0, 0, 0}, 7)),
		`{"type":"createAccountWithSeed","info":{"source":"s","newAccount":"n","base":"` + systemProgram + `","seed":"hi","lamports":1,"space":2,"owner":"` + systemProgram + `"}}`:        parsedText(t, systemProgram, []string{"s", "n"}, append(u64(u64(append(u64(append([]byte{3, 0, 0, 0}, make([]byte, 32)...), 2), "hi"...), 1), 2), make([]byte, 32)...)),
		`{"type":"create","info":{"source":"s","account":"a","wallet":"w","mint":"m","systemProgram":"y","tokenProgram":"t"}}`:                                                             parsedText(t, "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", []string{"s", "a", "w", "m", "y", "t"}, nil),
		`{"type":"getAccountDataSize","info":{"mint":"m"}}`:                                                                                                                                parsedText(t, tokenProgram, []string{"m"}, []byte{21}),
		`{"type":"getAccountDataSize","info":{"mint":"m","extensionTypes":["immutableOwner","permissionedBurn"]}}`:                                                                         parsedText(t, tokenProgram, []string{"m"}, []byte{21, 7, 0, 28, 0}),
		`{"type":"amountToUiAmount","info":{"mint":"m","amount":"42"}}`:                                                                                                                    parsedText(t, tokenProgram, []string{"m"}, u64([]byte{23}, 42)),
		`{"type":"uiAmountToAmount","info":{"mint":"m","uiAmount":"4.2"}}`:                                                                                                                 parsedText(t, tokenProgram, []string{"m"}, []byte("\x184.2")),
		`{"type":"withdrawExcessLamports","info":{"source":"s","destination":"d","authority":"a"}}`:                                                                                        parsedText(t, tokenProgram, []string{"s", "d", "a"}, []byte{38}),
		`{"type":"unwrapLamports","info":{"source":"s","destination":"d","authority":"a"}}`:                                                                                                parsedText(t, tokenProgram, []string{"s", "d", "a"}, []byte{45, 0}),
		`{"type":"unwrapLamports","info":{"source":"s","destination":"d","multisigAuthority":"m","signers":["x"],"amount":"42"}}`:                                                          parsedText(t, tokenProgram, []string{"s", "d", "m", "x"}, u64([]byte{45, 1}, 42)),
		`{"type":"batch","info":{"instructions":[]}}`:                                                                                                                                      parsedText(t, tokenProgram, nil, []byte{255}),
		`{"type":"batch","info":{"instructions":[{"type":"syncNative","info":{"account":"a"}},{"type":"revoke","info":{"source":"s","owner":"o"}}]}}`:                                      parsedText(t, tokenProgram, []string{"a", "s", "o"}, []byte{255, 1, 1, 17, 2, 1, 5}),
	} {
		var answer struct{ Parsed json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(got), &answer))
		require.JSONEq(t, want, string(answer.Parsed), got)
	}
	require.JSONEq(t, `{"program":"spl-memo","programId":"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr","parsed":"hello","stackHeight":null}`,
		parsedText(t, "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", nil, []byte("hello")))
	for _, malformed := range [][]byte{nil, {3}, {3, 1}, {200}, {6, 99, 0}, {21, 7}, {21, 29, 0}, {24, 0xff}, {45}, {45, 1}, {255, 1}, {255, 9, 1, 17}, {255, 1, 2, 17}, {255, 1, 1, 255}, {255, 1, 1, 200}} {
		require.Contains(t, parsedText(t, tokenProgram, []string{"s", "d", "a"}, malformed), `"data":`)
	}
	require.Contains(t, parsedText(t, tokenProgram, []string{"s"}, u64([]byte{3}, 42)), `"accounts":["s"]`, "too few accounts")
}

func TestDetails(t *testing.T) {
	parsed, err := parseRecord(tx{number: 1, slot: 9, keys: []byte{1, 2}, loaded: []byte{3, 4}, failed: true}.record())
	require.NoError(t, err)
	for details, want := range map[string]string{
		"none":       `{"slot":9,"transactionIndex":1}`,
		"signatures": `{"signature":"` + signatureText(1) + `","slot":9,"transactionIndex":1}`,
		"accounts": `{"signature":"` + signatureText(1) + `","slot":9,"transactionIndex":1,"transaction":{"version":0,
			"transaction":{"signatures":["` + signatureText(1) + `"],"accountKeys":[
				{"pubkey":"` + text(1) + `","signer":true,"source":"transaction","writable":true},{"pubkey":"` + text(2) + `","signer":false,"source":"transaction","writable":true},
				{"pubkey":"` + text(3) + `","signer":false,"source":"lookupTable","writable":true},{"pubkey":"` + text(4) + `","signer":false,"source":"lookupTable","writable":false}]},
			"meta":{"err":{"InstructionError":[2,{"Custom":6001}]},"status":{"Err":{"InstructionError":[2,{"Custom":6001}]}},"fee":5000,
				"preBalances":[],"postBalances":[],"preTokenBalances":[],"postTokenBalances":[]}}}`,
	} {
		got, err := parsed.notification(shape{"base64", details})
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), details)
	}
	first, err := parsed.notification(shape{"json", "full"})
	require.NoError(t, err)
	second, err := parsed.notification(shape{"json", "full"})
	require.NoError(t, err)
	require.Same(t, &first[0], &second[0], "made once for all who want this shape")
	require.Empty(t, parsed.withoutCache().shapes.made, "what waits for its slot to be finalized holds no JSON")
}

// FuzzInstruction: no instruction of a known program makes jsonParsed panic.
func FuzzInstruction(f *testing.F) {
	f.Add(byte(0), []byte{12, 1, 2, 3, 4, 5, 6, 7, 8, 9}, byte(5))
	f.Add(byte(1), []byte{3, 0, 0, 0}, byte(2))
	f.Add(byte(0), []byte{255, 1, 1, 17, 2, 1, 5}, byte(3))
	programs := []string{tokenProgram, systemProgram, "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"}
	f.Fuzz(func(t *testing.T, program byte, data []byte, accounts byte) {
		keys := append([]string{programs[int(program)%len(programs)]}, make([]string, accounts%20)...)
		indexes := make([]byte, accounts)
		for i := range indexes {
			indexes[i] = byte(i)
		}
		if _, err := json.Marshal(parsedInstruction(keys, 0, indexes, data, nil)); err != nil {
			t.Fatal(err)
		}
	})
}
