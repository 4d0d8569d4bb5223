package layout

// Instructions of the token programs (spl-token and spl-token-2022, instruction.rs; p-token for the
// last three of SPL Token: withdraw excess, unwrap, batch).
const (
	TagInitializeMint     = 0
	TagTransfer           = 3
	TagApprove            = 4
	TagRevoke             = 5
	TagSetAuthority       = 6
	TagMintTo             = 7
	TagBurn               = 8
	TagCloseAccount       = 9
	TagFreezeAccount      = 10
	TagThawAccount        = 11
	TagTransferChecked    = 12
	TagMintToChecked      = 14
	TagBurnChecked        = 15
	TagSyncNative         = 17
	TagInitializeAccount3 = 18
	TagInitializeMint2    = 20
	TagAccountDataSize    = 21
	TagImmutableOwner     = 22
	TagMintCloseAuthority = 25
	TagTransferFee        = 26
	TagWithdrawExcess     = 38
	TagMetadataPointer    = 39
	TagScaledAmount       = 43
	TagUnwrap             = 45
	TagBatch              = 255
)

// Instructions of the transfer fee extension: the second byte after TagTransferFee.
const (
	FeeTagInitialize     = 0
	FeeTagTransfer       = 1
	FeeTagWithdraw       = 2
	FeeTagHarvest        = 4
	PointerTagInitialize = 0 // the same of the metadata pointer extension
	ScaledTagUpdate      = 1 // the same of scaled amounts
)

// Authority types of SetAuthority (spl-token, instruction.rs).
const (
	AuthorityMint         = 0
	AuthorityFreeze       = 1
	AuthorityAccountOwner = 2
	AuthorityClose        = 3
)

// InitializeMint2 returns the instruction's data; freeze is nil for none.
func InitializeMint2(decimals byte, authority Key, freeze *Key) []byte {
	return appendOptional(append([]byte{TagInitializeMint2, decimals}, authority[:]...), freeze)
}

// SetAuthority returns the instruction's data; next is nil to give the authority up.
func SetAuthority(kind byte, next *Key) []byte {
	return appendOptional([]byte{TagSetAuthority, kind}, next)
}

func appendOptional(b []byte, k *Key) []byte {
	if k == nil {
		return append(b, 0)
	}
	return append(append(b, 1), k[:]...)
}

// MintTo returns the instruction's data.
func MintTo(amount uint64) []byte { return AppendU64([]byte{TagMintTo}, amount) }

// MintToChecked returns the instruction's data.
func MintToChecked(amount uint64, decimals byte) []byte {
	return append(AppendU64([]byte{TagMintToChecked}, amount), decimals)
}

// Burn returns the instruction's data.
func Burn(amount uint64) []byte { return AppendU64([]byte{TagBurn}, amount) }

// BurnChecked returns the instruction's data.
func BurnChecked(amount uint64, decimals byte) []byte {
	return append(AppendU64([]byte{TagBurnChecked}, amount), decimals)
}

// Transfer returns the instruction's data.
func Transfer(amount uint64) []byte { return AppendU64([]byte{TagTransfer}, amount) }

// TransferChecked returns the instruction's data.
func TransferChecked(amount uint64, decimals byte) []byte {
	return append(AppendU64([]byte{TagTransferChecked}, amount), decimals)
}
