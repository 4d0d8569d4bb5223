package trust

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
)

// Transaction is what a replay must know about a transaction that ran.
type Transaction struct {
	Signature [64]byte
	Slot      uint64
	// UnixTime is the time of its block, in seconds; 0 if that is not known.
	UnixTime int64
	// Keys are all its accounts. Lamports and Tokens are the balances before and after the
	// transaction, by the index of the account in Keys.
	Keys     []venue.Key
	Lamports [2][]uint64
	// Writable says of each of Keys whether the transaction may write the account.
	Writable []bool
	Tokens   [2]map[int]Tokens
	Calls    []Invoked
	// failed says that the transaction failed, so that it moved nothing but its fee.
	failed bool
}

// Tokens is a balance of a token account.
type Tokens struct {
	Mint   venue.Key
	Amount uint64
}

// Invoked is an instruction that was executed. Program and Accounts are indexes of Keys. Height is
// 1 for an outer instruction.
type Invoked struct {
	Program  int
	Accounts []byte
	Data     []byte
	Height   int
}

// Indexes of Lamports and Tokens.
const before, after = 0, 1

var errTransaction = errors.New("malformed transaction")

// setWritable sets Writable: of the first static keys as the header says, which are the keys of the
// message, and then of the addresses from lookup tables, of which the writable ones stand first.
func (t *Transaction) setWritable(h txwire.Header, static, loaded int) {
	t.Writable = make([]bool, len(t.Keys))
	for i := range t.Keys {
		switch {
		case i >= static:
			t.Writable[i] = i < static+loaded
		case i < int(h.Signers):
			t.Writable[i] = i < int(h.Signers)-int(h.ReadonlySigners)
		default:
			t.Writable[i] = i < static-int(h.ReadonlyOthers)
		}
	}
}

// check returns an error if an index is beyond Keys, balances are missing, or a height is not set.
func (t *Transaction) check() error {
	for _, list := range t.Lamports {
		if len(list) != len(t.Keys) {
			return fmt.Errorf("%w: %d balances of %d accounts", errTransaction, len(list), len(t.Keys))
		}
	}
	for _, c := range t.Calls {
		if c.Program < 0 || c.Program >= len(t.Keys) || c.Height < 1 {
			return fmt.Errorf("%w: a call of program %d at height %d", errTransaction, c.Program, c.Height)
		}
		for _, i := range c.Accounts {
			if int(i) >= len(t.Keys) {
				return fmt.Errorf("%w: account %d of %d", errTransaction, i, len(t.Keys))
			}
		}
	}
	return nil
}

// inner is the calls that one outer instruction made.
type inner struct {
	index int
	calls []Invoked
}

// arrange puts the calls into the order of execution, and sets the height of the outer ones.
func (t *Transaction) arrange(outer []Invoked, lists []inner) {
	of := map[int][]Invoked{}
	for _, l := range lists {
		of[l.index] = append(of[l.index], l.calls...)
	}
	for i, call := range outer {
		call.Height = 1
		t.Calls = append(append(t.Calls, call), of[i]...)
	}
}

// answered is a result of getTransaction with base64.
type answered struct {
	Slot        uint64   `json:"slot"`
	BlockTime   *int64   `json:"blockTime"`
	Transaction []string `json:"transaction"`
	Meta        *struct {
		Err          any            `json:"err"`
		PreBalances  []uint64       `json:"preBalances"`
		PostBalances []uint64       `json:"postBalances"`
		PreTokens    []tokenBalance `json:"preTokenBalances"`
		PostTokens   []tokenBalance `json:"postTokenBalances"`
		Inner        []struct {
			Index        int `json:"index"`
			Instructions []struct {
				Program  int    `json:"programIdIndex"`
				Accounts []int  `json:"accounts"`
				Data     string `json:"data"`
				Height   int    `json:"stackHeight"`
			} `json:"instructions"`
		} `json:"innerInstructions"`
		Loaded struct {
			Writable []venue.Key `json:"writable"`
			Readonly []venue.Key `json:"readonly"`
		} `json:"loadedAddresses"`
	} `json:"meta"`
}

type tokenBalance struct {
	Index  int       `json:"accountIndex"`
	Mint   venue.Key `json:"mint"`
	Amount struct {
		Amount string `json:"amount"`
	} `json:"uiTokenAmount"`
}

// parseAnswer parses a result of getTransaction.
func parseAnswer(raw json.RawMessage) (*Transaction, error) {
	var a answered
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("%w: %w", errTransaction, err)
	}
	if a.Meta == nil || len(a.Transaction) != 2 {
		return nil, fmt.Errorf("%w: no meta, or not in base64", errTransaction)
	}
	wire, err := base64.StdEncoding.DecodeString(a.Transaction[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTransaction, err)
	}
	t := &Transaction{Slot: a.Slot, failed: a.Meta.Err != nil, Lamports: [2][]uint64{a.Meta.PreBalances, a.Meta.PostBalances}}
	if a.BlockTime != nil {
		t.UnixTime = *a.BlockTime
	}
	header, outer, err := t.readWire(wire)
	if err != nil {
		return nil, err
	}
	static := len(t.Keys)
	t.Keys = append(append(t.Keys, a.Meta.Loaded.Writable...), a.Meta.Loaded.Readonly...)
	t.setWritable(header, static, len(a.Meta.Loaded.Writable))
	var lists []inner
	for _, l := range a.Meta.Inner {
		list := inner{index: l.Index}
		for _, i := range l.Instructions {
			data, err := base58.Decode(i.Data)
			if err != nil && i.Data != "" {
				return nil, fmt.Errorf("%w: %w", errTransaction, err)
			}
			call := Invoked{Program: i.Program, Data: data, Height: i.Height}
			for _, account := range i.Accounts {
				if account < 0 || account > 255 {
					return nil, fmt.Errorf("%w: account %d", errTransaction, account)
				}
				call.Accounts = append(call.Accounts, byte(account))
			}
			list.calls = append(list.calls, call)
		}
		lists = append(lists, list)
	}
	t.arrange(outer, lists)
	for when, list := range [2][]tokenBalance{a.Meta.PreTokens, a.Meta.PostTokens} {
		if t.Tokens[when], err = tokensOf(list); err != nil {
			return nil, err
		}
	}
	return t, t.check()
}

// readWire sets the signature and the keys from a transaction in wire format. It returns its header
// and its outer instructions. Keys from lookup tables are not in it: parseAnswer appends them.
func (t *Transaction) readWire(wire []byte) (header txwire.Header, outer []Invoked, err error) {
	var tx txwire.Transaction
	if err := tx.Parse(wire); err != nil {
		return header, nil, fmt.Errorf("%w: %w", errTransaction, err)
	}
	t.Signature = [64]byte(tx.Signatures[0]) // Parse refuses a transaction without one
	for _, key := range tx.Keys {
		t.Keys = append(t.Keys, venue.Key(key))
	}
	for _, i := range tx.Instructions {
		outer = append(outer, Invoked{Program: int(i.Program), Accounts: i.Accounts, Data: i.Data})
	}
	return tx.Header, outer, nil
}

func tokensOf(list []tokenBalance) (map[int]Tokens, error) {
	of := make(map[int]Tokens, len(list))
	for _, b := range list {
		amount, err := strconv.ParseUint(b.Amount.Amount, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errTransaction, err)
		}
		of[b.Index] = Tokens{b.Mint, amount}
	}
	return of, nil
}

// parseUpdate parses a transaction of a Yellowstone stream.
func parseUpdate(u *pb.SubscribeUpdateTransaction) (*Transaction, error) {
	info := u.GetTransaction()
	message, meta := info.GetTransaction().GetMessage(), info.GetMeta()
	if len(info.GetSignature()) != 64 || message == nil || meta == nil {
		return nil, fmt.Errorf("%w: no message or meta", errTransaction)
	}
	t := &Transaction{
		Signature: [64]byte(info.GetSignature()), Slot: u.GetSlot(), failed: meta.GetErr() != nil,
		Lamports: [2][]uint64{meta.GetPreBalances(), meta.GetPostBalances()},
	}
	for _, list := range [][][]byte{message.GetAccountKeys(), meta.GetLoadedWritableAddresses(), meta.GetLoadedReadonlyAddresses()} {
		for _, key := range list {
			if len(key) != pubkey.Size {
				return nil, fmt.Errorf("%w: a key of %d bytes", errTransaction, len(key))
			}
			t.Keys = append(t.Keys, venue.Key(key))
		}
	}
	h := message.GetHeader()
	counts := [3]uint32{h.GetNumRequiredSignatures(), h.GetNumReadonlySignedAccounts(), h.GetNumReadonlyUnsignedAccounts()}
	if slices.Max(counts[:]) > math.MaxUint8 {
		return nil, fmt.Errorf("%w: a header of %d", errTransaction, counts)
	}
	t.setWritable(txwire.Header{Signers: uint8(counts[0]), ReadonlySigners: uint8(counts[1]), ReadonlyOthers: uint8(counts[2])},
		len(message.GetAccountKeys()), len(meta.GetLoadedWritableAddresses()))
	var outer []Invoked
	for _, i := range message.GetInstructions() {
		outer = append(outer, Invoked{Program: int(i.GetProgramIdIndex()), Accounts: i.GetAccounts(), Data: i.GetData()})
	}
	var lists []inner
	for _, l := range meta.GetInnerInstructions() {
		list := inner{index: int(l.GetIndex())}
		for _, i := range l.GetInstructions() {
			list.calls = append(list.calls, Invoked{Program: int(i.GetProgramIdIndex()), Accounts: i.GetAccounts(), Data: i.GetData(), Height: int(i.GetStackHeight())})
		}
		lists = append(lists, list)
	}
	t.arrange(outer, lists)
	for when, list := range [2][]*pb.TokenBalance{meta.GetPreTokenBalances(), meta.GetPostTokenBalances()} {
		balances := make([]tokenBalance, len(list))
		for i, b := range list {
			mint, err := pubkey.Parse(b.GetMint())
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errTransaction, err)
			}
			balances[i].Index, balances[i].Mint, balances[i].Amount.Amount = int(b.GetAccountIndex()), mint, b.GetUiTokenAmount().GetAmount()
		}
		var err error
		if t.Tokens[when], err = tokensOf(balances); err != nil {
			return nil, err
		}
	}
	return t, t.check()
}
