package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// Program is how a program is deployed.
type Program struct {
	Program venue.Key `json:"program"`
	// Slot is that of the deployment; 0 for a program that does not exist or cannot be deployed
	// again.
	Slot uint64 `json:"slot"`
	// SHA256 is the hash of the executable without trailing zeros, in hexadecimal, as solana-verify
	// prints it; empty until it is read.
	SHA256 string `json:"sha256"`
}

// The loaders that can deploy a program again.
var (
	loaderUpgradeable = pubkey.MustParse("BPFLoaderUpgradeab1e11111111111111111111111")
	loaderV4          = pubkey.MustParse("LoaderV411111111111111111111111111111111111")
)

// Layouts of the loaders' accounts (solana-loader-v3-interface: an enum of u32, of which 3 is
// ProgramData, with slot u64 and an optional authority; solana-loader-v4-interface: slot u64,
// authority, status u64).
const (
	kindProgramData    = 3
	dataSlot, dataCode = 4, 45
	v4Code             = 48
	// headLength is how much of each account is read to notice a deployment.
	headLength = 48
)

// mark identifies one deployment of a program.
type mark struct {
	loader venue.Key
	slot   uint64
	// code is the account that has the executable, from offset at on. It is zero if the program
	// does not exist.
	code venue.Key
	at   int
}

// dataAddress returns the account that has a program's executable under the upgradeable loader.
func dataAddress(program venue.Key) (venue.Key, error) {
	return venue.Derive(loaderUpgradeable, program[:])
}

// markOf returns the deployment of a program, from the beginnings of its account and of its data
// account.
func markOf(program, address venue.Key, account, data *solana.Account) mark {
	switch {
	case account == nil:
		return mark{}
	case account.Owner == loaderUpgradeable:
		return dataMark(address, data)
	case account.Owner == loaderV4 && len(account.Data) >= v4Code:
		return mark{loaderV4, binary.LittleEndian.Uint64(account.Data), program, v4Code}
	}
	return mark{loader: account.Owner, code: program}
}

// dataMark returns the deployment of an upgradeable program, from its data account.
func dataMark(address venue.Key, data *solana.Account) mark {
	m := mark{loader: loaderUpgradeable}
	if data != nil && data.Owner == loaderUpgradeable && len(data.Data) >= dataCode && binary.LittleEndian.Uint32(data.Data) == kindProgramData {
		m.slot, m.code, m.at = binary.LittleEndian.Uint64(data.Data[dataSlot:]), address, dataCode
	}
	return m // without code: the program was closed
}

// RPC reads accounts: *solana.Client.
type RPC = market.RPC

// programs are the programs that are watched, with their data accounts.
type programs struct {
	list []venue.Key
	data map[venue.Key]venue.Key
}

func newPrograms(venues venue.List) (*programs, error) {
	p := &programs{data: map[venue.Key]venue.Key{}}
	for _, v := range venues {
		for _, program := range v.Programs() {
			if _, known := p.data[program]; known {
				continue
			}
			address, err := dataAddress(program)
			if err != nil {
				return nil, err
			}
			p.list = append(p.list, program)
			p.data[program] = address
		}
	}
	return p, nil
}

// accounts returns the accounts that a deployment writes: each program and then its data account.
func (p *programs) accounts() []venue.Key {
	keys := make([]venue.Key, 0, 2*len(p.list))
	for _, program := range p.list {
		keys = append(keys, program, p.data[program])
	}
	return keys
}

// of returns the program that an account belongs to.
func (p *programs) of(account venue.Key) (venue.Key, bool) {
	for _, program := range p.list {
		if account == program || account == p.data[program] {
			return program, true
		}
	}
	return venue.Key{}, false
}

// read reads how the programs are deployed, at slot from or later.
func (p *programs) read(ctx context.Context, rpc RPC, from uint64) (slot uint64, marks map[venue.Key]mark, err error) {
	slot, accounts, err := rpc.GetMultipleAccounts(ctx, p.accounts(), solana.AccountOptions{
		Commitment: market.Commitment, DataSlice: &solana.DataSlice{Length: headLength}, MinContextSlot: from,
	})
	if err != nil {
		return 0, nil, fmt.Errorf("read programs: %w", err)
	}
	if slot < from { // not every server knows minContextSlot
		return 0, nil, fmt.Errorf("read programs: the server is at slot %d, %d is wanted", slot, from)
	}
	marks = map[venue.Key]mark{}
	for i, program := range p.list {
		marks[program] = markOf(program, p.data[program], accounts[2*i], accounts[2*i+1])
	}
	return slot, marks, nil
}

// errMoved is returned for a program that was deployed again while it was read.
var errMoved = errors.New("the program was deployed anew meanwhile")

// noCode is the sum of a program that does not exist.
const noCode = "none"

// sum reads the executable of a deployment and returns its hash.
func (p *programs) sum(ctx context.Context, rpc RPC, program venue.Key, m mark) (string, error) {
	_, accounts, err := rpc.GetMultipleAccounts(ctx, []venue.Key{m.code}, solana.AccountOptions{Commitment: market.Commitment})
	if err != nil {
		return "", fmt.Errorf("read the executable of %s: %w", program.String(), err)
	}
	code := accounts[0]
	switch {
	case code == nil || len(code.Data) < m.at:
		return "", errMoved
	case m.loader == loaderUpgradeable && binary.LittleEndian.Uint64(code.Data[dataSlot:]) != m.slot, m.loader == loaderV4 && binary.LittleEndian.Uint64(code.Data) != m.slot:
		return "", errMoved
	}
	return Sum(code.Data[m.at:]), nil
}

// Sum returns the hash that identifies an executable: SHA-256 without trailing zeros, as the
// account is often longer than the executable. The loader fills the rest with zeros, also when an
// upgrade is shorter (solana-bpf-loader-program, upgrade and extend). So the hash is that of the
// ELF whatever the account's length is, which SIMD-0433 changes with each upgrade. To cut the ELF
// by the lengths in its headers gives the same, but these headers are the deployer's to write.
func Sum(executable []byte) string {
	sum := sha256.Sum256(bytes.TrimRight(executable, "\x00"))
	return hex.EncodeToString(sum[:])
}
