package parse

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas"
)

// flat makes blocks comparable: an empty list is no list.
func flat(b *chain.Block) *chain.Block {
	out := *b
	out.Transactions = append([]chain.Transaction(nil), b.Transactions...)
	call := func(c chain.Call) chain.Call {
		c.Accounts, c.Data = append([]byte(nil), c.Accounts...), append([]byte(nil), c.Data...)
		return c
	}
	for i := range out.Transactions {
		tx := &out.Transactions[i]
		tx.Details = plain(tx.Details)
		tx.Raw = nil // as it came, so another one in each encoding
		tx.Instructions = append([]chain.Instruction(nil), tx.Instructions...)
		for j := range tx.Instructions {
			ins := &tx.Instructions[j]
			inner := ins.Inner
			ins.Call, ins.Inner = call(ins.Call), nil
			for _, c := range inner {
				ins.Inner = append(ins.Inner, call(c))
			}
		}
	}
	return &out
}

// plainDetails are details that were read.
type plainDetails struct {
	chain.Details
	logs      []string
	pre, post []uint64
}

func plain(d chain.Details) chain.Details {
	if d == nil {
		return nil
	}
	var out plainDetails
	d.Logs(func(line []byte) bool {
		out.logs = append(out.logs, string(line))
		return true
	})
	out.pre, out.post = d.Lamports(nil, nil)
	return out
}

// recode rewrites a getBlock result of base64 transactions into another encoding, as a node would
// answer it.
func recode(t testing.TB, data []byte, encoding string) []byte {
	t.Helper()
	var block map[string]any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	require.NoError(t, d.Decode(&block))
	for _, entry := range block["transactions"].([]any) {
		entry := entry.(map[string]any)
		wire, err := base64.StdEncoding.DecodeString(entry["transaction"].([]any)[0].(string))
		require.NoError(t, err)
		switch encoding {
		case "base58":
			entry["transaction"] = []string{base58.Encode(wire), "base58"}
		case "bare base58":
			entry["transaction"] = base58.Encode(wire)
		default:
			recodeJSON(t, entry, wire, encoding == "jsonParsed")
		}
	}
	out, err := json.Marshal(block)
	require.NoError(t, err)
	return out
}

func recodeJSON(t testing.TB, entry map[string]any, wire []byte, parsed bool) {
	t.Helper()
	tx, err := solana.TransactionFromDecoder(bin.NewBinDecoder(wire))
	require.NoError(t, err)
	meta := entry["meta"].(map[string]any)
	var keys []string
	var shown []any
	for _, k := range tx.Message.AccountKeys {
		keys = append(keys, k.String())
		shown = append(shown, map[string]any{"pubkey": k.String(), "signer": false, "source": "transaction", "writable": true})
	}
	static := keys
	loaded := meta["loadedAddresses"].(map[string]any)
	for _, list := range []string{"writable", "readonly"} {
		for _, k := range loaded[list].([]any) {
			keys = append(keys, k.(string))
			shown = append(shown, map[string]any{"pubkey": k, "signer": false, "source": "lookupTable", "writable": list == "writable"})
		}
	}
	message := map[string]any{"accountKeys": static, "recentBlockhash": tx.Message.RecentBlockhash.String(), "header": tx.Message.Header}
	if tx.Message.IsVersioned() {
		message["addressTableLookups"] = lookups(tx)
	}
	var instructions []any
	for _, ins := range tx.Message.Instructions {
		c := map[string]any{"programIdIndex": ins.ProgramIDIndex, "accounts": ins.Accounts, "data": base58.Encode(ins.Data), "stackHeight": nil}
		if parsed {
			c = parsedForm(keys, int(ins.ProgramIDIndex), ins.Accounts, ins.Data, nil)
		}
		instructions = append(instructions, c)
	}
	message["instructions"] = instructions
	if parsed {
		message["accountKeys"] = shown
		delete(meta, "loadedAddresses")
		for _, group := range meta["innerInstructions"].([]any) {
			list := group.(map[string]any)["instructions"].([]any)
			for i, ins := range list {
				ins := ins.(map[string]any)
				var accounts []uint16
				for _, a := range ins["accounts"].([]any) {
					accounts = append(accounts, uint16(number64(a)))
				}
				raw, err := base58.Decode(ins["data"].(string))
				require.NoError(t, err)
				list[i] = parsedForm(keys, number64(ins["programIdIndex"]), accounts, raw, ins["stackHeight"])
			}
		}
	}
	signatures := []string{}
	for _, s := range tx.Signatures {
		signatures = append(signatures, s.String())
	}
	entry["transaction"] = map[string]any{"signatures": signatures, "message": message}
}

func number64(v any) int {
	n, _ := v.(json.Number).Int64()
	return int(n)
}

func lookups(tx *solana.Transaction) []any {
	out := []any{}
	for _, l := range tx.Message.AddressTableLookups {
		out = append(out, map[string]any{"accountKey": l.AccountKey.String(), "writableIndexes": ints(l.WritableIndexes), "readonlyIndexes": ints(l.ReadonlyIndexes)})
	}
	return out
}

func ints(b []byte) []int {
	out := []int{}
	for _, v := range b {
		out = append(out, int(v))
	}
	return out
}

// parsedForm is a node's jsonParsed form of an instruction, for the token instructions that real
// blocks are full of; every other is partially decoded.
func parsedForm(keys []string, program int, accounts []uint16, data []byte, height any) map[string]any {
	named := []string{}
	for _, a := range accounts {
		named = append(named, keys[a])
	}
	out := map[string]any{"programId": keys[program], "stackHeight": height}
	if id := keys[program]; (id == schemas.ProgramToken || id == schemas.ProgramToken2022) && len(data) > 0 {
		if kind, info := tokenInfo(named, data); info != nil {
			out["program"], out["parsed"] = "spl-token", map[string]any{"type": kind, "info": info}
			return out
		}
	}
	out["accounts"], out["data"] = named, base58.Encode(data)
	return out
}

func tokenInfo(a []string, d []byte) (string, map[string]any) {
	info := map[string]any{}
	u64 := func() string { return fmt.Sprint(binary.LittleEndian.Uint64(d[1:])) }
	checked := func() { info["tokenAmount"] = map[string]any{"amount": u64(), "decimals": d[9], "uiAmountString": "x"} }
	optional := func(name string, b []byte) bool {
		if len(b) == 1 && b[0] == 0 {
			info[name] = nil
			return true
		}
		if len(b) == 33 && b[0] == 1 {
			info[name] = base58.Encode(b[1:])
			return true
		}
		return false
	}
	set := func(min int, signer string, names ...string) bool {
		if len(a) < min {
			return false
		}
		for i, n := range names {
			info[n] = a[i]
		}
		if signer == "" {
			return len(a) == len(names)
		}
		if len(a) == len(names)+1 {
			info[signer] = a[len(names)]
			return true
		}
		info["multisig"+strings.ToUpper(signer[:1])+signer[1:]] = a[len(names)]
		info["signers"] = a[len(names)+1:]
		return true
	}
	ok, kind := false, ""
	switch {
	case d[0] == 3 && len(d) == 9:
		kind, ok = "transfer", set(3, "authority", "source", "destination")
		info["amount"] = u64()
	case d[0] == 7 && len(d) == 9:
		kind, ok = "mintTo", set(3, "mintAuthority", "mint", "account")
		info["amount"] = u64()
	case d[0] == 8 && len(d) == 9:
		kind, ok = "burn", set(3, "authority", "account", "mint")
		info["amount"] = u64()
	case d[0] == 9 && len(d) == 1:
		kind, ok = "closeAccount", set(3, "owner", "account", "destination")
	case d[0] == 12 && len(d) == 10:
		kind, ok = "transferChecked", set(4, "authority", "source", "mint", "destination")
		checked()
	case d[0] == 15 && len(d) == 10:
		kind, ok = "burnChecked", set(3, "authority", "account", "mint")
		checked()
	case d[0] == 17 && len(d) == 1:
		kind, ok = "syncNative", set(1, "", "account")
	case d[0] == 18 && len(d) == 33:
		kind, ok = "initializeAccount3", set(2, "", "account", "mint")
		info["owner"] = base58.Encode(d[1:])
	case d[0] == 1 && len(d) == 1:
		kind, ok = "initializeAccount", set(4, "", "account", "mint", "owner", "rentSysvar")
	case d[0] == 22 && len(d) == 1:
		kind, ok = "initializeImmutableOwner", set(1, "", "account")
	case (d[0] == 20 || d[0] == 0) && len(d) >= 35:
		kind, ok = "initializeMint2", set(1, "", "mint")
		if d[0] == 0 {
			kind, ok = "initializeMint", set(2, "", "mint", "rentSysvar")
		}
		info["decimals"], info["mintAuthority"] = d[1], base58.Encode(d[2:34])
		ok = ok && optional("freezeAuthority", d[34:])
	case d[0] == 39 && len(d) == 66 && d[1] == 0:
		kind, ok = "initializeMetadataPointer", set(1, "", "mint")
		info["authority"], info["metadataAddress"] = base58.Encode(d[2:34]), base58.Encode(d[34:])
		if info["authority"] == "11111111111111111111111111111111" {
			delete(info, "authority")
		}
	case len(d) > 20 && d[0] == 210 && d[1] == 225:
		kind, ok = "initializeTokenMetadata", set(4, "", "metadata", "updateAuthority", "mint", "mintAuthority")
		rest := d[8:]
		for _, n := range []string{"name", "symbol", "uri"} {
			size := binary.LittleEndian.Uint32(rest)
			info[n] = string(rest[4 : 4+size])
			rest = rest[4+size:]
		}
		ok = ok && len(rest) == 0
	case len(d) == 40 && d[0] == 215 && d[1] == 228:
		kind, ok = "updateTokenMetadataAuthority", set(2, "", "metadata", "updateAuthority")
		info["newAuthority"] = base58.Encode(d[8:])
		if info["newAuthority"] == "11111111111111111111111111111111" {
			info["newAuthority"] = nil
		}
	case d[0] == 6 && len(d) >= 3:
		kind, ok = "setAuthority", set(2, "authority", "mint")
		if d[1] == 2 || d[1] == 3 {
			info["account"] = info["mint"]
			delete(info, "mint")
		}
		info["authorityType"] = authorityTypes[d[1]]
		ok = ok && optional("newAuthority", d[2:])
	}
	if !ok {
		return "", nil
	}
	return kind, info
}

func TestEveryEncodingGivesTheSameBlock(t *testing.T) {
	for slot, name := range map[uint64]string{254170887: "254170887", 361774429: "361774429"} {
		data := sharedBytes(t, "data/blocks/"+name+".json.gz")
		want, err := Reader{}.BlockJSON(data, slot)
		require.NoError(t, err)
		for _, encoding := range []string{"base58", "bare base58", "json", "jsonParsed"} {
			text := recode(t, data, encoding)
			require.Equal(t, encoding == "jsonParsed", strings.Count(string(text), `"parsed":`) > 100)
			got, err := Reader{}.BlockJSON(text, slot)
			require.NoError(t, err, encoding)
			wantFlat, gotFlat := flat(want), flat(got)
			for i := range wantFlat.Transactions {
				require.Equal(t, wantFlat.Transactions[i], gotFlat.Transactions[i], "%s, transaction %d", encoding, i)
			}
			require.Equal(t, wantFlat, gotFlat, encoding)
		}
		wrapped, err := Reader{}.BlockJSON([]byte(`{"jsonrpc":"2.0","id":1,"result":`+string(data)+`}`), slot)
		require.NoError(t, err)
		require.Equal(t, want, wrapped)
		notification, err := Reader{}.JSON([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"blockNotification","params":{"result":{"context":{"slot":%d},"value":{"slot":%d,"err":null,"block":%s}},"subscription":1}}`, slot, slot, data)), nil)
		require.NoError(t, err)
		require.Equal(t, want, notification[0])
	}
}

func TestEveryEncodingGivesTheSameTransaction(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/transactions"), "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		want, err := Reader{}.JSON(data, nil)
		if err != nil {
			continue
		}
		var doc map[string]any
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		require.NoError(t, d.Decode(&doc))
		raw, ok := doc["raw"].(map[string]any)
		if !ok {
			raw = doc
		}
		wire, err := base64.StdEncoding.DecodeString(raw["transaction"].([]any)[0].(string))
		require.NoError(t, err)
		recodeJSON(t, raw, wire, true)
		for _, shape := range []any{raw, []any{raw}, map[string]any{"jsonrpc": "2.0", "result": raw}, map[string]any{"raw": raw}} {
			text, err := json.Marshal(shape)
			require.NoError(t, err)
			got, err := Reader{}.JSON(text, nil)
			require.NoError(t, err, file)
			require.Len(t, got, 1)
			require.Equal(t, flat(want[0]), flat(got[0]), file)
		}
	}
}
