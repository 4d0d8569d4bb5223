package parse

import (
	"fmt"
	"strconv"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// jsonMeta reads a transaction's metadata. If whole is true, it reads all of it and joins the inner
// instructions to the outer ones. The outer instructions must then be known already, and name keys
// by index. If whole is false, jsonMeta leaves the inner instructions for later, and returns their
// place as inner. recorded is false if the node did not record them. Once the transaction is known
// to be a vote or to have failed, jsonMeta skips the rest.
func (b *builder) jsonMeta(tx *chain.Transaction, r *jsonwalk.Reader, m message, whole bool) (inner *jsonwalk.Reader, recorded bool, err error) {
	var loaded [2][]pubkey.Key
	var at jsonwalk.Reader
	hasErr := false
	d := details{json: true}
	err = r.Object(func(key []byte) error {
		if string(key) == "err" {
			hasErr = true
			if r.Null() {
				return nil
			}
			tx.Failed = true
		}
		if tx.Failed || tx.Vote {
			return r.Skip()
		}
		switch string(key) {
		case "innerInstructions":
			if recorded = !r.Null(); !recorded {
				return nil
			}
			if whole {
				if err := b.jsonInner(tx, r); err != nil {
					return fmt.Errorf("innerInstructions: %w", err)
				}
				return nil
			}
			at = *r
		case "preTokenBalances":
			return b.jsonBalances(r, &tx.PreBalances)
		case "postTokenBalances":
			return b.jsonBalances(r, &tx.PostBalances)
		case "preBalances":
			return b.jsonText(r, &d.pre)
		case "postBalances":
			return b.jsonText(r, &d.post)
		case "logMessages":
			return b.jsonText(r, &d.logs)
		case "loadedAddresses":
			if r.Null() {
				return nil
			}
			return b.jsonLoaded(r, &loaded)
		}
		return r.Skip()
	})
	if err != nil {
		return nil, false, err
	}
	if !hasErr {
		return nil, false, malformed("does not say whether the transaction failed (err)")
	}
	if tx.Failed || tx.Vote {
		return &at, recorded, nil
	}
	tx.Signers, tx.Details = m.signatures, b.detailsOf(d)
	return &at, recorded, b.load(tx, m, loaded[0], loaded[1])
}

// jsonText copies the JSON text of a value, to be parsed on demand. It copies, because a block must
// not keep its whole text in memory.
func (b *builder) jsonText(r *jsonwalk.Reader, to *[]byte) error {
	text, err := r.Raw()
	*to = b.bytes.copyOf(text)
	return err
}

// load appends the addresses from lookup tables to the keys, writable ones first, unless the
// message's own keys include them. If the message states how many addresses it looks up, load
// checks their number.
func (b *builder) load(tx *chain.Transaction, m message, writable, readonly []pubkey.Key) error {
	if m.allKeys {
		return nil
	}
	if m.hasLookups && !tx.Failed && (len(writable) != m.writable || len(readonly) != m.readonly) {
		return malformed("%d+%d loaded addresses where the message looks up %d+%d", len(writable), len(readonly), m.writable, m.readonly)
	}
	if err := b.appendKeys(tx, writable); err != nil {
		return err
	}
	return b.appendKeys(tx, readonly)
}

// jsonLoaded reads loadedAddresses: the writable ones into loaded[0], the others into loaded[1].
func (b *builder) jsonLoaded(r *jsonwalk.Reader, loaded *[2][]pubkey.Key) error {
	return r.Object(func(key []byte) error {
		to := &loaded[0]
		switch string(key) {
		case "readonly":
			to = &loaded[1]
		case "writable":
		default:
			return r.Skip()
		}
		*to = nil
		return r.Array(func(i int) error {
			if i >= maxKeys {
				return malformed("more than %d loaded addresses", maxKeys)
			}
			var k pubkey.Key
			err := jsonKey(r, &k)
			*to = append(*to, k)
			return err
		})
	})
}

func (b *builder) jsonBalances(r *jsonwalk.Reader, to *[]chain.TokenBalance) error {
	if r.Null() {
		return nil
	}
	b.scratchBalances = b.scratchBalances[:0]
	err := r.Array(func(i int) error {
		if i >= maxBalances {
			return malformed("more than %d token balances", maxBalances)
		}
		var t chain.TokenBalance
		if err := b.jsonBalance(r, &t); err != nil {
			return fmt.Errorf("token balance %d: %w", i, err)
		}
		b.scratchBalances = append(b.scratchBalances, t)
		return nil
	})
	*to = b.balances.copyOf(b.scratchBalances)
	return err
}

func (b *builder) jsonBalance(r *jsonwalk.Reader, t *chain.TokenBalance) error {
	var minted bool
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "accountIndex":
			n, err := r.Uint64()
			t.AccountIndex = int(n)
			return bounded(err, n, maxKeys-1, "accountIndex")
		case "mint":
			minted = true
			text, err := r.String()
			if err == nil {
				t.Mint, err = b.recent.key(text)
			}
			return err
		case "owner":
			return b.optionalKey(r, &t.Owner)
		case "programId":
			return b.optionalKey(r, &t.Program)
		case "uiTokenAmount":
			return r.Object(func(key []byte) error {
				switch string(key) {
				case "amount":
					text, err := r.String()
					if err != nil {
						return err
					}
					t.Amount, err = parseAmount(text)
					return err
				case "decimals":
					n, err := r.Uint64()
					t.Decimals = uint8(n)
					return bounded(err, n, 255, "decimals")
				}
				return r.Skip()
			})
		}
		return r.Skip()
	})
	if err == nil && !minted {
		return malformed("without mint")
	}
	return err
}

// bounded returns err with the name what. If err is nil, it returns an error if n is greater than
// most.
func bounded(err error, n, most uint64, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if n > most {
		return malformed("%s %d, at most %d", what, n, most)
	}
	return nil
}

// parseAmount parses a decimal u64.
func parseAmount(text []byte) (uint64, error) {
	if len(text) > 0 && len(text) < 19 { // cannot overflow: faster than strconv
		n := uint64(0)
		for _, c := range text {
			if c -= '0'; c > 9 {
				return 0, malformed("amount %.30q is no raw amount", text)
			}
			n = n*10 + uint64(c)
		}
		return n, nil
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, malformed("amount %.30q is no raw amount", text)
	}
	return n, nil
}

// optionalKey reads a key that old nodes omit, or give as null or as the empty string.
func (b *builder) optionalKey(r *jsonwalk.Reader, key *pubkey.Key) error {
	if r.Null() {
		return nil
	}
	text, err := r.String()
	if err != nil || len(text) == 0 {
		return err
	}
	*key, err = b.recent.key(text)
	return err
}

// jsonCall reads one instruction: compiled (programIdIndex, account indexes, base58 data),
// partially decoded (programId, account keys, base58 data) or parsed (programId, parsed).
func (b *builder) jsonCall(tx *chain.Transaction, r *jsonwalk.Reader) (call chain.Call, err error) {
	var parsed *jsonwalk.Reader
	known := false
	err = r.Object(func(key []byte) error {
		switch string(key) {
		case "programIdIndex":
			n, err := r.Uint64()
			call.ProgramIndex, known = int(n), true
			return bounded(err, n, maxKeys-1, "programIdIndex")
		case "programId":
			known = true
			n, err := b.keyIndex(tx, r)
			call.ProgramIndex = int(n)
			return err
		case "accounts":
			call.Accounts, err = b.jsonAccounts(tx, r)
			return err
		case "data":
			text, err := r.String()
			if err == nil {
				call.Data, err = b.base58Bytes(text)
			}
			return err
		case "stackHeight":
			if r.Null() {
				return nil
			}
			n, err := r.Uint64()
			call.StackHeight = int(n)
			return bounded(err, n, 255, "stackHeight")
		case "parsed":
			at := *r
			parsed = &at
		}
		return r.Skip()
	})
	if err == nil && !known {
		err = malformed("names no program")
	}
	if err == nil && parsed != nil {
		err = b.reencode(tx, &call, parsed)
	}
	return call, err
}

// jsonAccounts reads an instruction's accounts, which are indexes or keys, as indexes.
func (b *builder) jsonAccounts(tx *chain.Transaction, r *jsonwalk.Reader) ([]byte, error) {
	b.plain = b.plain[:0]
	err := r.Array(func(i int) (err error) {
		if i >= maxAccounts {
			return malformed("more than %d accounts", maxAccounts)
		}
		if r.Peek() == '"' {
			index, err := b.keyIndex(tx, r)
			b.plain = append(b.plain, index)
			return err
		}
		index, err := r.Uint64()
		b.plain = append(b.plain, byte(index))
		return bounded(err, index, maxKeys-1, "account")
	})
	return b.bytes.copyOf(b.plain), err
}

// keyIndex reads a key and returns its index among the transaction's keys.
func (b *builder) keyIndex(tx *chain.Transaction, r *jsonwalk.Reader) (byte, error) {
	var key pubkey.Key
	if err := jsonKey(r, &key); err != nil {
		return 0, err
	}
	return indexOf(tx, key)
}

func indexOf(tx *chain.Transaction, key pubkey.Key) (byte, error) {
	for i := range tx.Keys {
		if tx.Keys[i] == key {
			return byte(i), nil
		}
	}
	return 0, malformed("an instruction names a key that is not among the transaction's")
}
