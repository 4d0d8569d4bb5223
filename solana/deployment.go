package solana

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// The loaders that can deploy a program again.
var (
	LoaderUpgradeable = pubkey.MustParse("BPFLoaderUpgradeab1e11111111111111111111111")
	LoaderV4          = pubkey.MustParse("LoaderV411111111111111111111111111111111111")
)

// Layouts of the loaders' accounts (solana-loader-v3-interface: an enum of u32, of which 3 is
// ProgramData, with slot u64 and an optional authority; solana-loader-v4-interface: slot u64,
// authority, status u64).
const (
	kindProgramData    = 3
	programDataSlot    = 4
	loaderV4Code       = 48
	ProgramDataCode    = 45 // where the executable begins in an upgradeable program's data account
	DeploymentDataSize = 48 // bytes of each account that DeploymentOf needs
)

// Deployment identifies one deployment of a program.
type Deployment struct {
	Loader pubkey.Key
	// Slot is that of the deployment; 0 for a program that does not exist or cannot be deployed
	// again.
	Slot uint64
	// Code is the account that has the executable, from offset At on. It is zero if the program
	// does not exist.
	Code pubkey.Key
	At   int
}

// ProgramDataAddress returns the account that has a program's executable under the upgradeable
// loader.
func ProgramDataAddress(program pubkey.Key) (address pubkey.Key, ok bool) {
	return tokenaccount.Derive(LoaderUpgradeable, program[:])
}

// DeploymentOf returns the deployment of a program, from the beginnings of its account and of its
// data account, whose address is ProgramDataAddress.
func DeploymentOf(program, address pubkey.Key, account, data *Account) Deployment {
	switch {
	case account == nil:
		return Deployment{}
	case account.Owner == LoaderUpgradeable:
		return ProgramDataDeployment(address, data)
	case account.Owner == LoaderV4 && len(account.Data) >= loaderV4Code:
		return Deployment{LoaderV4, binary.LittleEndian.Uint64(account.Data), program, loaderV4Code}
	}
	return Deployment{Loader: account.Owner, Code: program}
}

// ProgramDataDeployment returns the deployment of an upgradeable program, from its data account.
func ProgramDataDeployment(address pubkey.Key, data *Account) Deployment {
	d := Deployment{Loader: LoaderUpgradeable}
	if data != nil && data.Owner == LoaderUpgradeable && len(data.Data) >= ProgramDataCode && binary.LittleEndian.Uint32(data.Data) == kindProgramData {
		d.Slot, d.Code, d.At = binary.LittleEndian.Uint64(data.Data[programDataSlot:]), address, ProgramDataCode
	}
	return d // without code: the program was closed
}

// Executable returns the executable in the whole data of the account Code. It returns false if the
// account is of another deployment.
func (d Deployment) Executable(code *Account) ([]byte, bool) {
	switch {
	case code == nil || len(code.Data) < d.At:
		return nil, false
	case d.Loader == LoaderUpgradeable && binary.LittleEndian.Uint64(code.Data[programDataSlot:]) != d.Slot,
		d.Loader == LoaderV4 && binary.LittleEndian.Uint64(code.Data) != d.Slot:
		return nil, false
	}
	return code.Data[d.At:], true
}

// ExecutableHash returns the hash that identifies an executable, in hexadecimal, as solana-verify
// prints it: SHA-256 without trailing zeros, as the account is often longer than the executable.
// The loader fills the rest with zeros, also when an upgrade is shorter
// (solana-bpf-loader-program, upgrade and extend). So the hash is that of the ELF whatever the
// account's length is, which SIMD-0433 changes with each upgrade. To cut the ELF by the lengths in
// its headers gives the same, but these headers are the deployer's to write.
func ExecutableHash(executable []byte) string {
	sum := sha256.Sum256(bytes.TrimRight(executable, "\x00"))
	return hex.EncodeToString(sum[:])
}
