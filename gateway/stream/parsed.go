package stream

import (
	"slices"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/solana/txwire"
)

// The encoding jsonParsed is Agave's (transaction-status, parse_accounts.rs and
// parse_instruction.rs). An instruction that a parser knows has its type and its arguments by name.
// Any other instruction has its accounts as addresses and its data in base58.

// jsonKey is an account of a transaction.
type jsonKey struct {
	Pubkey   string `json:"pubkey"`
	Signer   bool   `json:"signer"`
	Source   string `json:"source"` // transaction or lookupTable
	Writable bool   `json:"writable"`
}

// jsonParsed is a transaction with encoding jsonParsed.
type jsonParsed struct {
	Signatures []string          `json:"signatures"`
	Message    jsonParsedMessage `json:"message"`
}

type jsonParsedMessage struct {
	AccountKeys  []jsonKey      `json:"accountKeys"`
	Blockhash    string         `json:"recentBlockhash"`
	Instructions []any          `json:"instructions"`
	Lookups      *[]jsonLookup  `json:"addressTableLookups,omitempty"`
	Config       *txwire.Config `json:"transactionConfig,omitempty"`
}

// jsonRecognized is an instruction that the parser of its program knows.
type jsonRecognized struct {
	Program   string `json:"program"`
	ProgramID string `json:"programId"`
	// Parsed is a *jsonCall, or the text of a memo.
	Parsed      any     `json:"parsed"`
	StackHeight *uint32 `json:"stackHeight"`
}

// jsonCall is the type of an instruction, and its accounts and arguments by name.
type jsonCall struct {
	Type string         `json:"type"`
	Info map[string]any `json:"info"`
}

// jsonPartly is an instruction without a parser, or that its parser does not know.
type jsonPartly struct {
	ProgramID   string   `json:"programId"`
	Accounts    []string `json:"accounts"`
	Data        string   `json:"data"`
	StackHeight *uint32  `json:"stackHeight"`
}

// allKeys returns the addresses of all accounts: the message's, then the writable and the readonly
// ones from lookup tables.
func allKeys(m *pb.Message, meta *pb.TransactionStatusMeta) []string {
	return texts(slices.Concat(m.GetAccountKeys(), meta.GetLoadedWritableAddresses(), meta.GetLoadedReadonlyAddresses()))
}

// upgradeableLoader is the loader of programs that can be upgraded. A transaction that names it may
// write to programs.
const upgradeableLoader = "BPFLoaderUpgradeab1e11111111111111111111111"

// reserved are the accounts that no transaction may write to, whatever its header says
// (agave-reserved-account-keys 4.3.0).
var reserved = map[string]bool{
	"AddressLookupTab1e1111111111111111111111111": true, "BPFLoader2111111111111111111111111111111111": true,
	"BPFLoader1111111111111111111111111111111111": true, upgradeableLoader: true,
	"ComputeBudget111111111111111111111111111111": true, "Config1111111111111111111111111111111111111": true,
	"Ed25519SigVerify111111111111111111111111111": true, "Feature111111111111111111111111111111111111": true,
	"LoaderV411111111111111111111111111111111111": true, "KeccakSecp256k11111111111111111111111111111": true,
	"Secp256r1SigVerify1111111111111111111111111": true, "StakeConfig11111111111111111111111111111111": true,
	"Stake11111111111111111111111111111111111111": true, "11111111111111111111111111111111": true,
	"Vote111111111111111111111111111111111111111": true, "ZkE1Gama1Proof11111111111111111111111111111": true,
	"ZkTokenProof1111111111111111111111111111111": true, "SysvarC1ock11111111111111111111111111111111": true,
	"SysvarEpochRewards1111111111111111111111111": true, "SysvarEpochSchedu1e111111111111111111111111": true,
	"SysvarFees111111111111111111111111111111111": true, "Sysvar1nstructions1111111111111111111111111": true,
	"SysvarLastRestartS1ot1111111111111111111111": true, "SysvarRecentB1ockHashes11111111111111111111": true,
	"SysvarRent111111111111111111111111111111111": true, "SysvarRewards111111111111111111111111111111": true,
	"SysvarS1otHashes111111111111111111111111111": true, "SysvarS1otHistory11111111111111111111111111": true,
	"SysvarStakeHistory1111111111111111111111111": true, "NativeLoader1111111111111111111111111111111": true,
	"Sysvar1111111111111111111111111111111111111": true,
}

// keysOf returns all accounts, and says which of them sign and which are writable. A program that
// an instruction of the message calls is not writable, unless the transaction names
// upgradeableLoader. A reserved account is never writable.
func keysOf(m *pb.Message, meta *pb.TransactionStatusMeta) []jsonKey {
	h := m.GetHeader()
	all, static := allKeys(m, meta), len(m.GetAccountKeys())
	signers := int(h.GetNumRequiredSignatures())
	upgrades := slices.Contains(all, upgradeableLoader)
	list := make([]jsonKey, len(all))
	for i, key := range all {
		k := jsonKey{Pubkey: key, Source: "transaction", Signer: i < signers}
		switch {
		case i >= static:
			k.Source = "lookupTable"
			k.Writable = i < static+len(meta.GetLoadedWritableAddresses())
		case i < signers:
			k.Writable = i < signers-int(h.GetNumReadonlySignedAccounts())
		default:
			k.Writable = i < static-int(h.GetNumReadonlyUnsignedAccounts())
		}
		called := slices.ContainsFunc(m.GetInstructions(), func(ix *pb.CompiledInstruction) bool { return int(ix.GetProgramIdIndex()) == i })
		k.Writable = k.Writable && (!called || upgrades) && !reserved[key]
		list[i] = k
	}
	return list
}

func parsedTransaction(tx *pb.Transaction, meta *pb.TransactionStatusMeta) jsonParsed {
	m := tx.GetMessage()
	keys := allKeys(m, meta)
	out := jsonParsed{texts(tx.GetSignatures()), jsonParsedMessage{
		AccountKeys: keysOf(m, meta), Blockhash: base58.Encode(m.GetRecentBlockhash()),
		Instructions: make([]any, 0, len(m.GetInstructions())), Lookups: lookupsOf(m), Config: configOf(m),
	}}
	for _, ix := range m.GetInstructions() {
		out.Message.Instructions = append(out.Message.Instructions, parsedInstruction(keys, ix.GetProgramIdIndex(), ix.GetAccounts(), ix.GetData(), &outerHeight))
	}
	return out
}

func parsedInner(m *pb.Message, meta *pb.TransactionStatusMeta) []jsonInner {
	if meta.GetInnerInstructionsNone() {
		return nil
	}
	keys := allKeys(m, meta)
	out := make([]jsonInner, 0, len(meta.GetInnerInstructions()))
	for _, group := range meta.GetInnerInstructions() {
		inner := jsonInner{Index: group.GetIndex(), Instructions: make([]any, 0, len(group.GetInstructions()))}
		for _, ix := range group.GetInstructions() {
			inner.Instructions = append(inner.Instructions, parsedInstruction(keys, ix.GetProgramIdIndex(), ix.GetAccounts(), ix.GetData(), ix.StackHeight))
		}
		out = append(out, inner)
	}
	return out
}

// keyAt returns keys[i], or an empty text if a malformed transaction has an index beyond keys.
func keyAt(keys []string, i uint32) string {
	if int64(i) < int64(len(keys)) {
		return keys[i]
	}
	return ""
}

func parsedInstruction(keys []string, program uint32, indexes, data []byte, height *uint32) any {
	id := keyAt(keys, program)
	accounts := make([]string, len(indexes))
	for i, index := range indexes {
		accounts[i] = keyAt(keys, uint32(index))
	}
	if known, ok := parsers[id]; ok {
		if parsed := known.parse(accounts, data); parsed != nil {
			return jsonRecognized{known.name, id, parsed, height}
		}
	}
	return jsonPartly{id, accounts, base58.Encode(data), height}
}
