package trust

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// Vector is a swap on the chain with the state before it, so that it can be computed again. Numbers
// of 64 bits are decimal strings.
type Vector struct {
	Format int    `json:"format"`
	Venue  string `json:"venue"`
	// Programs are the venue's programs as they were deployed at that time.
	Programs  []Program `json:"programs"`
	Signature string    `json:"signature"`
	Slot      uint64    `json:"slot,string"`
	UnixTime  int64     `json:"unix_time,string"`
	Pool      venue.Key `json:"pool"`
	Order     struct {
		In       venue.Key `json:"in"`
		Amount   uint64    `json:"amount,string"`
		ExactOut bool      `json:"exact_out"`
	} `json:"order"`
	// Chain is what reached and left the pool's side of the trade, Quoted what our quote said.
	Chain  Flow `json:"chain"`
	Quoted Flow `json:"quoted"`
	// Features of the quote, by name.
	Features []string `json:"features"`
	// Accounts are those from which the quote is computed, the mints too.
	Accounts []VectorAccount `json:"accounts"`
}

// Flow is what the accounts of the pool's side of a trade received and gave, fees included.
type Flow struct {
	In  uint64 `json:"in,string"`
	Out uint64 `json:"out,string"`
}

// VectorAccount is an account before the swap. Owner is empty if it did not exist.
type VectorAccount struct {
	Key      venue.Key `json:"key"`
	Owner    string    `json:"owner"`
	Lamports uint64    `json:"lamports,string"`
	// Data in base64.
	Data string `json:"data"`
}

const vectorFormat = 1

// vectorOf makes the vector of a replay.
func vectorOf(e *Evidence, r replayed, programs []Program) *Vector {
	v := &Vector{
		Format: vectorFormat, Venue: e.Venue.Name(), Programs: programs, Signature: base58.Encode(e.Signature[:]), Slot: e.Slot, UnixTime: e.UnixTime,
		Pool: e.Ref.Address(), Chain: Flow{r.chain[in], r.chain[out]}, Quoted: Flow{r.quoted[in], r.quoted[out]}, Features: append([]string{}, r.features.Names(e.Venue.FeatureNames())...),
	}
	v.Order.In, v.Order.Amount, v.Order.ExactOut = r.order.In, r.order.Amount, r.order.ExactOut
	for key, account := range e.Before {
		a := VectorAccount{Key: key}
		if account != nil {
			a.Owner, a.Lamports, a.Data = account.Owner.String(), account.Lamports, base64.StdEncoding.EncodeToString(account.Data)
		}
		v.Accounts = append(v.Accounts, a)
	}
	slices.SortFunc(v.Accounts, func(a, b VectorAccount) int { return pubkey.Compare(a.Key, b.Key) })
	return v
}

// ErrVector is wrapped by errors about a file that is not a valid vector.
var ErrVector = errors.New("no vector of a swap")

// ReadVector reads a file that a mismatch was written to.
func ReadVector(path string) (*Vector, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v := &Vector{}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrVector, err)
	}
	if v.Format != vectorFormat {
		return nil, fmt.Errorf("%s: %w: its format is %d, this version reads %d", path, ErrVector, v.Format, vectorFormat)
	}
	return v, nil
}

// Verify quotes a vector's swap again. got is what our quote says now. It is right if it equals
// v.Chain. An error is a refusal to quote, or wraps ErrVector.
func (v *Vector) Verify(venues venue.List) (got Flow, err error) {
	malformed := func(what string, err error) (Flow, error) {
		return Flow{}, fmt.Errorf("%w: %s: %w", ErrVector, what, err)
	}
	if v.Order.In.IsZero() {
		return malformed("order.in", errors.New("it is missing"))
	}
	accounts, err := v.accounts()
	if err != nil {
		return malformed("accounts", err)
	}
	i := slices.IndexFunc(venues, func(known venue.Venue) bool { return known.Name() == v.Venue })
	if i < 0 {
		return malformed("venue", fmt.Errorf("there is none named %q", v.Venue))
	}
	if accounts[v.Pool] == nil {
		return malformed("accounts", errors.New("the pool is missing"))
	}
	keys := make([]venue.Key, 0, len(accounts))
	for key := range accounts {
		keys = append(keys, key)
	}
	ref, err := venues[i].Open(v.Pool, accounts[v.Pool].Data, keys...)
	if err != nil {
		return Flow{}, err
	}
	quote, err := quoteOf(ref, accounts, venue.Order{
		In: v.Order.In, Amount: v.Order.Amount, ExactOut: v.Order.ExactOut,
		Clock: venue.ClockAt(v.Slot, v.UnixTime),
	})
	if err != nil {
		return Flow{}, err
	}
	side := poolSide(quote)
	return Flow{side[in], side[out]}, nil
}

func (v *Vector) accounts() (map[venue.Key]*solana.Account, error) {
	accounts := map[venue.Key]*solana.Account{}
	for _, a := range v.Accounts {
		if a.Owner == "" {
			accounts[a.Key] = nil
			continue
		}
		account := &solana.Account{Lamports: a.Lamports}
		var err error
		if account.Owner, err = pubkey.Parse(a.Owner); err != nil {
			return nil, err
		}
		if account.Data, err = base64.StdEncoding.DecodeString(a.Data); err != nil {
			return nil, err
		}
		accounts[a.Key] = account
	}
	return accounts, nil
}

// maxVectors is how many files a folder keeps.
const maxVectors = 256

// vectorFolder is the folder of mismatches, below Config.Dir.
const vectorFolder = "mismatches"

// write writes the vector into a folder and returns the file's path. If there are more than
// maxVectors files, it removes those of the lowest slots.
func (v *Vector) write(dir string) (string, error) {
	dir = filepath.Join(dir, vectorFolder)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return "", err
	}
	// The slot has a fixed width, so that names are in the order of the chain.
	path := filepath.Join(dir, fmt.Sprintf("%012d-%s-%s.json", v.Slot, v.Venue, v.Signature[:min(12, len(v.Signature))]))
	if err := durable.ReplaceUnsynced(path, raw); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	for _, old := range files[:max(0, len(files)-maxVectors)] {
		if err := os.Remove(old); err != nil {
			return "", err
		}
	}
	return path, nil
}

// String is a flow in words.
func (f Flow) String() string {
	return strconv.FormatUint(f.In, 10) + " in, " + strconv.FormatUint(f.Out, 10) + " out"
}
