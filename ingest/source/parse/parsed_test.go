package parse_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// known returns the i-th key of the made-up transactions.
func known(i byte) string { return base58.Encode(slices.Repeat([]byte{i + 1}, 32)) }

// withKeys puts keys for K0 to K9 in a JSON text.
func withKeys(text string) string {
	for i := range byte(10) {
		text = strings.ReplaceAll(text, fmt.Sprintf(`"K%d"`, i), `"`+known(i)+`"`)
	}
	return text
}

// parsedEntry returns an entry of getBlock in jsonParsed with one instruction, which is {type,
// info}.
func parsedEntry(signature byte, program, instruction string) string {
	keys := []string{}
	for i := range byte(10) {
		keys = append(keys, fmt.Sprintf(`{"pubkey":"K%d","signer":%t,"writable":true,"source":"transaction"}`, i, i == 0))
	}
	keys = append(keys, `{"pubkey":"`+program+`","signer":false,"writable":false,"source":"transaction"}`)
	return withKeys(fmt.Sprintf(`{"transaction":{"signatures":["%s"],"message":{"accountKeys":[%s],"recentBlockhash":"K9",
		"instructions":[{"programId":"%s","program":"spl-token","parsed":%s,"stackHeight":1}]}},
		"meta":{"err":null,"fee":5000,"innerInstructions":[],"preBalances":[],"postBalances":[],"preTokenBalances":[],"postTokenBalances":[]},"version":0}`,
		base58.Encode(slices.Repeat([]byte{signature}, 64)), strings.Join(keys, ","), program, instruction))
}

func parsedBlock(entries ...string) []byte {
	return []byte(withKeys(`{"blockhash":"K1","previousBlockhash":"K2","parentSlot":6,"blockTime":1700000000,"blockHeight":5,"transactions":[` + strings.Join(entries, ",") + `]}`))
}

func readBlock(t testing.TB, data []byte) *chain.Block {
	t.Helper()
	b, err := parse.Reader{}.BlockJSON(data, 7)
	require.NoError(t, err)
	return b
}

// what names an event: its kind, and how much it changes.
func what(event *eventspb.TokenEvent) string {
	switch p := event.GetPayload().(type) {
	case *eventspb.TokenEvent_MintTo:
		return fmt.Sprint("mint_to ", p.MintTo.GetAmount())
	case *eventspb.TokenEvent_Burn:
		return fmt.Sprint("burn ", p.Burn.GetAmount())
	case *eventspb.TokenEvent_ExtensionSet:
		return p.ExtensionSet.GetExtension()
	case *eventspb.TokenEvent_Raw:
		return "raw: " + p.Raw.GetReason()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", event.GetPayload()), "*eventspb.TokenEvent_")
}

func events(b *chain.Block) (all []string) {
	d := decode.New(nil)
	for i := range b.Transactions {
		for _, event := range d.Decode(&b.Transactions[i], b.Slot, b.BlockTime) {
			all = append(all, what(event))
		}
	}
	return all
}

var (
	key32    = base64.StdEncoding.EncodeToString(slices.Repeat([]byte{7}, 32))
	cipher36 = base64.StdEncoding.EncodeToString(slices.Repeat([]byte{8}, 36))
)

// agave are the instructions that Agave 4.3 parses (transaction-status/src/parse_token.rs and
// parse_token/extension), with the names and infos that it writes, and the events that follow from
// their bytes; "" = none.
var agave = []struct{ kind, info, event string }{
	{"initializeMint", `{"mint":"K1","decimals":6,"mintAuthority":"K2","rentSysvar":"K3","freezeAuthority":"K4"}`, "InitializeMint"},
	{"initializeMint2", `{"mint":"K1","decimals":6,"mintAuthority":"K2"}`, "InitializeMint"},
	{"initializeAccount", `{"account":"K1","mint":"K2","owner":"K3","rentSysvar":"K4"}`, ""},
	{"initializeAccount2", `{"account":"K1","mint":"K2","owner":"K3","rentSysvar":"K4"}`, ""},
	{"initializeAccount3", `{"account":"K1","mint":"K2","owner":"K3"}`, ""},
	{"initializeMultisig", `{"multisig":"K1","rentSysvar":"K2","signers":["K3","K4"],"m":2}`, ""},
	{"initializeMultisig2", `{"multisig":"K1","signers":["K3","K4"],"m":2}`, ""},
	{"transfer", `{"source":"K1","destination":"K2","amount":"5","authority":"K3"}`, ""},
	{"transfer", `{"source":"K1","destination":"K2","amount":"5","multisigAuthority":"K3","signers":["K4"]}`, ""},
	{"approve", `{"source":"K1","delegate":"K2","amount":"5","owner":"K3"}`, ""},
	{"revoke", `{"source":"K1","owner":"K3"}`, ""},
	{"setAuthority", `{"mint":"K1","authorityType":"mintTokens","newAuthority":null,"authority":"K3"}`, "SetAuthority"},
	{"setAuthority", `{"mint":"K1","authorityType":"permissionedBurn","newAuthority":"K5","multisigAuthority":"K3","signers":["K4"]}`, "SetAuthority"},
	{"setAuthority", `{"account":"K1","authorityType":"accountOwner","newAuthority":"K5","authority":"K3"}`, ""},
	{"mintTo", `{"mint":"K1","account":"K2","amount":"18446744073709551615","mintAuthority":"K3"}`, "mint_to 18446744073709551615"},
	{"burn", `{"account":"K2","mint":"K1","amount":"9","multisigAuthority":"K3","signers":["K4","K5"]}`, "burn 9"},
	{"closeAccount", `{"account":"K2","destination":"K3","owner":"K4"}`, "CloseMint"},
	{"freezeAccount", `{"account":"K2","mint":"K1","freezeAuthority":"K3"}`, "FreezeAccount"},
	{"thawAccount", `{"account":"K2","mint":"K1","freezeAuthority":"K3"}`, "ThawAccount"},
	{"transferChecked", `{"source":"K1","mint":"K2","destination":"K3","tokenAmount":{"uiAmount":5.0,"decimals":0,"amount":"5","uiAmountString":"5"},"authority":"K4"}`, ""},
	{"approveChecked", `{"source":"K1","mint":"K2","delegate":"K3","tokenAmount":{"decimals":0,"amount":"5"},"owner":"K4"}`, ""},
	{"mintToChecked", `{"mint":"K1","account":"K2","tokenAmount":{"uiAmount":0.3,"decimals":1,"amount":"3","uiAmountString":"0.3"},"mintAuthority":"K3"}`, "mint_to 3"},
	{"burnChecked", `{"account":"K2","mint":"K1","tokenAmount":{"uiAmount":0.3,"decimals":1,"amount":"3","uiAmountString":"0.3"},"authority":"K3"}`, "burn 3"},
	{"syncNative", `{"account":"K1"}`, ""},
	{"getAccountDataSize", `{"mint":"K1","extensionTypes":["immutableOwner"]}`, ""},
	{"initializeImmutableOwner", `{"account":"K1"}`, ""},
	{"amountToUiAmount", `{"mint":"K1","amount":"5"}`, ""},
	{"uiAmountToAmount", `{"mint":"K1","uiAmount":"0.5"}`, ""},
	{"withdrawExcessLamports", `{"source":"K1","destination":"K2","authority":"K3"}`, "WithdrawExcessLamports"},
	{"unwrapLamports", `{"source":"K1","destination":"K2","authority":"K3"}`, ""},
	{"unwrapLamports", `{"source":"K1","destination":"K2","amount":"7","authority":"K3"}`, ""},
	{"unwrapLamports", `{"source":"K1","destination":"K2","amount":"7","multisigAuthority":"K3","signers":["K4","K5"]}`, ""},

	{"initializeMintCloseAuthority", `{"mint":"K1","newAuthority":"K2"}`, "mint_close_authority"},
	{"initializeMintCloseAuthority", `{"mint":"K1","newAuthority":null}`, "mint_close_authority"},
	{"initializeTransferFeeConfig", `{"mint":"K1","transferFeeBasisPoints":50,"maximumFee":18446744073709551615,"transferFeeConfigAuthority":"K2"}`, "transfer_fee_config"},
	{"transferCheckedWithFee", `{"source":"K1","mint":"K2","destination":"K3","tokenAmount":{"decimals":0,"amount":"5"},"feeAmount":{"decimals":0,"amount":"1"},"authority":"K4"}`, ""},
	{"withdrawWithheldTokensFromMint", `{"mint":"K1","feeRecipient":"K2","withdrawWithheldAuthority":"K3"}`, "transfer_fee_config"},
	{"withdrawWithheldTokensFromAccounts", `{"mint":"K1","feeRecipient":"K2","sourceAccounts":["K4"],"withdrawWithheldAuthority":"K3"}`, ""},
	{"harvestWithheldTokensToMint", `{"mint":"K1","sourceAccounts":["K4"]}`, "transfer_fee_config"},
	{"setTransferFee", `{"mint":"K1","transferFeeBasisPoints":50,"maximumFee":9,"transferFeeConfigAuthority":"K2"}`, "transfer_fee_config"},
	{"initializeDefaultAccountState", `{"mint":"K1","accountState":"frozen"}`, "default_account_state"},
	{"updateDefaultAccountState", `{"mint":"K1","accountState":"initialized","freezeAuthority":"K2"}`, "default_account_state"},
	{"reallocate", `{"account":"K1","payer":"K2","systemProgram":"K3","extensionTypes":["memoTransfer"],"owner":"K4"}`, ""},
	{"enableRequiredMemoTransfers", `{"account":"K1","owner":"K2"}`, ""},
	{"disableRequiredMemoTransfers", `{"account":"K1","owner":"K2"}`, ""},
	{"createNativeMint", `{"payer":"K1","nativeMint":"K2","systemProgram":"K3"}`, "InitializeMint"},
	{"initializeNonTransferableMint", `{"mint":"K1"}`, "non_transferable"},
	{"initializeInterestBearingConfig", `{"mint":"K1","rateAuthority":"K2","rate":-5}`, "interest_bearing_config"},
	{"updateInterestBearingConfigRate", `{"mint":"K1","newRate":32767,"rateAuthority":"K2"}`, "interest_bearing_config"},
	{"enableCpiGuard", `{"account":"K1","owner":"K2"}`, ""},
	{"disableCpiGuard", `{"account":"K1","owner":"K2"}`, ""},
	{"initializePermanentDelegate", `{"mint":"K1","delegate":"K2"}`, "permanent_delegate"},
	{"initializeTransferHook", `{"mint":"K1","authority":"K2","programId":"K3"}`, "transfer_hook"},
	{"updateTransferHook", `{"mint":"K1","programId":"K3","authority":"K2"}`, "transfer_hook"},
	{"initializeMetadataPointer", `{"mint":"K1","authority":"K2","metadataAddress":"K3"}`, "metadata_pointer"},
	{"updateMetadataPointer", `{"mint":"K1","metadataAddress":"K3","authority":"K2"}`, "metadata_pointer"},
	{"initializeGroupPointer", `{"mint":"K1"}`, "group_pointer"},
	{"updateGroupPointer", `{"mint":"K1","groupAddress":"K3","authority":"K2"}`, "group_pointer"},
	{"initializeGroupMemberPointer", `{"mint":"K1","memberAddress":"K3"}`, "group_member_pointer"},
	{"updateGroupMemberPointer", `{"mint":"K1","authority":"K2"}`, "group_member_pointer"},
	{"initializeScaledUiAmountConfig", `{"mint":"K1","authority":null,"multiplier":"1.5"}`, "scaled_ui_amount"},
	{"updateMultiplier", `{"mint":"K1","newMultiplier":"2","newMultiplierTimestamp":-1,"authority":"K2"}`, "scaled_ui_amount"},
	{"initializePausableConfig", `{"mint":"K1","authority":"K2"}`, "pausable"},
	{"pause", `{"mint":"K1","authority":"K2"}`, "pausable"},
	{"resume", `{"mint":"K1","authority":"K2"}`, "pausable"},
	{"initializePermissionedBurnConfig", `{"mint":"K1","authority":"K2"}`, "permissioned_burn"},
	{"permissionedBurn", `{"account":"K2","mint":"K1","permissionedBurnAuthority":"K3","amount":"4","authority":"K4"}`, "burn 4"},
	{"permissionedBurn", `{"account":"K2","mint":"K1","permissionedBurnAuthority":"K3","amount":"4","multisigAuthority":"K4","signers":["K5"]}`, "burn 4"},
	{"permissionedBurnChecked", `{"account":"K2","mint":"K1","permissionedBurnAuthority":"K3","tokenAmount":{"uiAmount":0.3,"decimals":1,"amount":"3","uiAmountString":"0.3"},"authority":"K4"}`, "burn 3"},
	{"permissionedConfidentialBurn", `{"account":"K2","mint":"K1","newDecryptableAvailableBalance":"x","permissionedBurnAuthority":"K3","authority":"K4"}`, "confidential_mint_burn"},

	{"initializeTokenMetadata", `{"metadata":"K1","updateAuthority":"K2","mint":"K1","mintAuthority":"K3","name":"a","symbol":"b","uri":"c"}`, "MetadataSet"},
	{"updateTokenMetadataField", `{"metadata":"K1","updateAuthority":"K2","field":"name","value":"a"}`, "MetadataSet"},
	{"removeTokenMetadataKey", `{"metadata":"K1","updateAuthority":"K2","key":"a","idempotent":true}`, "MetadataSet"},
	{"updateTokenMetadataAuthority", `{"metadata":"K1","updateAuthority":"K2","newAuthority":null}`, "MetadataSet"},
	{"emitTokenMetadata", `{"metadata":"K1","start":1,"end":2}`, ""},
	{"initializeTokenGroup", `{"group":"K1","maxSize":5,"mint":"K1","mintAuthority":"K2","updateAuthority":null}`, "token_group"},
	{"updateTokenGroupMaxSize", `{"group":"K1","maxSize":5,"updateAuthority":"K2"}`, "token_group"},
	{"updateTokenGroupAuthority", `{"group":"K1","updateAuthority":"K2","newAuthority":"K3"}`, "token_group"},
	{"initializeTokenGroupMember", `{"member":"K1","memberMint":"K1","memberMintAuthority":"K2","group":"K3","groupUpdateAuthority":"K4"}`, "token_group_member"},

	{"initializeConfidentialTransferMint", `{"mint":"K1","autoApproveNewAccounts":true,"auditorElGamalPubkey":"` + key32 + `","authority":"K2"}`, "confidential_transfer_mint"},
	{"updateConfidentialTransferMint", `{"mint":"K1","confidentialTransferMintAuthority":"K2","autoApproveNewAccounts":false,"auditorElGamalPubkey":null}`, "confidential_transfer_mint"},
	{"configureConfidentialTransferAccount", `{"account":"K1","mint":"K2","decryptableZeroBalance":"x","maximumPendingBalanceCreditCounter":65536,"owner":"K3"}`, ""},
	{"approveConfidentialTransferAccount", `{"account":"K1","mint":"K2","confidentialTransferAuditorAuthority":"K3"}`, ""},
	{"emptyConfidentialTransferAccount", `{"account":"K1","proofInstructionOffset":-1,"owner":"K3"}`, ""},
	{"depositConfidentialTransfer", `{"account":"K1","mint":"K2","amount":5,"decimals":2,"owner":"K3"}`, ""},
	{"depositConfidentialTransfer", `{"source":"K1","destination":"K1","mint":"K2","amount":5,"decimals":2,"owner":"K3"}`, ""},
	{"withdrawConfidentialTransfer", `{"account":"K1","mint":"K2","amount":5,"decimals":2,"owner":"K3"}`, ""},
	{"confidentialTransfer", `{"source":"K1","mint":"K2","destination":"K3","owner":"K4"}`, ""},
	{"confidentialTransferWithFee", `{"source":"K1","mint":"K2","destination":"K3","owner":"K4"}`, ""},
	{"applyPendingConfidentialTransferBalance", `{"account":"K1","newDecryptableAvailableBalance":"x","expectedPendingBalanceCreditCounter":1,"owner":"K2"}`, ""},
	{"enableConfidentialTransferConfidentialCredits", `{"account":"K1","owner":"K2"}`, ""},
	{"disableConfidentialTransferConfidentialCredits", `{"account":"K1","owner":"K2"}`, ""},
	{"enableConfidentialTransferNonConfidentialCredits", `{"account":"K1","owner":"K2"}`, ""},
	{"disableConfidentialTransferNonConfidentialCredits", `{"account":"K1","owner":"K2"}`, ""},
	{"configureConfidentialAccountWithRegistry", `{"account":"K1","mint":"K2","registry":"K3"}`, ""},
	{"initializeConfidentialTransferFeeConfig", `{"mint":"K1","withdrawWithheldAuthorityElGamalPubkey":"` + key32 + `","authority":"K2"}`, "confidential_transfer_fee_config"},
	{"withdrawWithheldConfidentialTransferTokensFromMint", `{"mint":"K1","feeRecipient":"K2","withdrawWithheldAuthority":"K3"}`, "confidential_transfer_fee_config"},
	{"withdrawWithheldConfidentialTransferTokensFromAccounts", `{"mint":"K1","feeRecipient":"K2","withdrawWithheldAuthority":"K3"}`, ""},
	{"harvestWithheldConfidentialTransferTokensToMint", `{"mint":"K1","sourceAccounts":["K2"]}`, "confidential_transfer_fee_config"},
	{"enableConfidentialTransferFeeHarvestToMint", `{"account":"K1","owner":"K2"}`, "confidential_transfer_fee_config"},
	{"disableConfidentialTransferFeeHarvestToMint", `{"account":"K1","owner":"K2"}`, "confidential_transfer_fee_config"},
	{"initializeConfidentialMintBurnMint", `{"mint":"K1","supplyElGamalPubkey":"` + key32 + `","decryptableSupply":"` + cipher36 + `"}`, "confidential_mint_burn"},
	{"updateConfidentialMintBurnDecryptableSupply", `{"mint":"K1","newDecryptableSupply":"` + cipher36 + `","owner":"K2"}`, "confidential_mint_burn"},
	{"rotateConfidentialMintBurnSupplyElGamalPubkey", `{"mint":"K1","newSupplyElGamalPubkey":"` + key32 + `","proofInstructionOffset":1,"owner":"K2"}`, "confidential_mint_burn"},
	{"confidentialMint", `{"destination":"K2","mint":"K1","newDecryptableSupply":"` + cipher36 + `","owner":"K3"}`, "confidential_mint_burn"},
	{"confidentialBurn", `{"destination":"K2","mint":"K1","newDecryptableAvailableBalance":"x","owner":"K3"}`, "confidential_mint_burn"},
	{"applyPendingBurn", `{"mint":"K1","owner":"K3"}`, "confidential_mint_burn"},
}

// TestEveryParsedInstruction: alone, and inside a batch between two that change the supply.
func TestEveryParsedInstruction(t *testing.T) {
	mint := `{"type":"mintTo","info":{"mint":"K6","account":"K7","amount":"100","mintAuthority":"K8"}}`
	burn := `{"type":"burn","info":{"account":"K7","mint":"K6","amount":"30","authority":"K8"}}`
	for _, ins := range agave {
		one := fmt.Sprintf(`{"type":%q,"info":%s}`, ins.kind, ins.info)
		want := []string{}
		if ins.event != "" {
			want = append(want, ins.event)
		}
		alone := readBlock(t, parsedBlock(parsedEntry(1, schemas.ProgramToken2022, one)))
		require.Empty(t, alone.Unread, one)
		require.Equal(t, want, append([]string{}, events(alone)...), one)

		batch := readBlock(t, parsedBlock(parsedEntry(1, schemas.ProgramToken2022, `{"type":"batch","info":{"instructions":[`+mint+","+one+","+burn+`]}}`)))
		require.Empty(t, batch.Unread, one)
		require.Equal(t, slices.Concat([]string{"mint_to 100"}, want, []string{"burn 30"}), events(batch), one)
	}
}

// TestAnUnknownPartOfABatch: the other parts are read; the unknown one is a raw event, as it is
// alone.
func TestAnUnknownPartOfABatch(t *testing.T) {
	mint := `{"type":"mintTo","info":{"mint":"K6","account":"K7","amount":"100","mintAuthority":"K8"}}`
	for _, unknown := range []string{`{"type":"newIn2027","info":{"mint":"K1"}}`, `{"type":"batch","info":{"instructions":[]}}`, `{"type":"newIn2027","info":{}}`} {
		for _, program := range []string{schemas.ProgramToken, schemas.ProgramToken2022} {
			b := readBlock(t, parsedBlock(parsedEntry(1, program, `{"type":"batch","info":{"instructions":[`+mint+","+unknown+","+mint+`]}}`)))
			require.Empty(t, b.Unread)
			got := events(b)
			require.Len(t, got, 3, unknown)
			require.Equal(t, "mint_to 100", got[0])
			require.Contains(t, got[1], "raw: ")
			require.Equal(t, "mint_to 100", got[2])
		}
	}
}

// TestANumberThatCannotBeReadCostsItsTransaction: numbers that JavaScript has rounded, and others.
// The block is partial, and has one unread transaction with its signature.
func TestANumberThatCannotBeReadCostsItsTransaction(t *testing.T) {
	good := parsedEntry(2, schemas.ProgramToken, `{"type":"mintTo","info":{"mint":"K1","account":"K2","amount":"5","mintAuthority":"K3"}}`)
	fee := func(n string) string {
		return `{"type":"setTransferFee","info":{"mint":"K1","transferFeeBasisPoints":50,"maximumFee":` + n + `,"transferFeeConfigAuthority":"K2"}}`
	}
	rate := func(n string) string {
		return `{"type":"updateInterestBearingConfigRate","info":{"mint":"K1","newRate":` + n + `,"rateAuthority":"K2"}}`
	}
	amount := func(n string) string {
		return `{"type":"mintTo","info":{"mint":"K1","account":"K2","amount":` + n + `,"mintAuthority":"K3"}}`
	}
	decimals := func(n string) string {
		return `{"type":"initializeMint2","info":{"mint":"K1","decimals":` + n + `,"mintAuthority":"K3"}}`
	}
	for _, bad := range []string{
		fee("18446744073709552000"), fee("1.8446744073709552e19"), fee("1e3"), fee("7.0"), fee("7.5"), fee(`"7"`), fee("-1"), fee("-18446744073709551615"),
		fee("18446744073709551616"), fee("null"), fee("true"), fee("[]"), fee("{}"), fee("NaN"), fee("Infinity"), fee("0x7"), fee("+7"), fee("-"),
		rate("32768"), rate("65535"), rate("-32769"), rate("-5.0"), rate(`"-5"`), rate("1e2"),
		amount("5"), amount(`"5.0"`), amount(`"-5"`), amount(`"1.8446744073709552e19"`), amount(`"18446744073709552000"`), amount(`""`), amount("null"),
		decimals("6.0"), decimals("256"), decimals("-1"), decimals(`"6"`),
	} {
		for _, instruction := range []string{bad, `{"type":"batch","info":{"instructions":[` + bad + `]}}`} {
			broken := parsedEntry(1, schemas.ProgramToken2022, instruction)
			for _, entries := range [][]string{{broken}, {broken, good}, {good, broken}, {broken, broken}} {
				b := readBlock(t, parsedBlock(entries...))
				require.True(t, b.Partial(), instruction)
				require.False(t, b.Whole)
				wrong := 0
				for _, entry := range entries {
					if entry == broken {
						wrong++
					}
				}
				require.Len(t, b.Unread, wrong, instruction)
				require.Len(t, b.Transactions, len(entries)-wrong)
				require.EqualValues(t, 1, b.Unread[0].Signature[0])
				require.True(t, strings.Contains(string(b.Unread[0].Raw), instruction[:16]))
				require.ErrorIs(t, b.Unread[0].Err, parse.ErrMalformed)
			}
		}
	}
}

// TestANumberOfTheMetadataCostsItsTransaction: the same in balances, indexes and heights.
func TestANumberOfTheMetadataCostsItsTransaction(t *testing.T) {
	entry := parsedEntry(1, schemas.ProgramToken, `{"type":"syncNative","info":{"account":"K1"}}`)
	for _, change := range [][2]string{
		{`"innerInstructions":[]`, `"innerInstructions":[{"index":0.0,"instructions":[]}]`},
		{`"innerInstructions":[]`, `"innerInstructions":[{"index":18446744073709552000,"instructions":[]}]`},
		{`"postTokenBalances":[]`, withKeys(`"postTokenBalances":[{"accountIndex":1.0,"mint":"K1","uiTokenAmount":{"amount":"5","decimals":6}}]`)},
		{`"postTokenBalances":[]`, withKeys(`"postTokenBalances":[{"accountIndex":1,"mint":"K1","uiTokenAmount":{"amount":"1.8e19","decimals":6}}]`)},
		{`"postTokenBalances":[]`, withKeys(`"postTokenBalances":[{"accountIndex":1,"mint":"K1","uiTokenAmount":{"amount":"5","decimals":6.0}}]`)},
		{`"version":0`, `"version":0.0`},
		{`"version":0`, `"version":-1`},
	} {
		require.Contains(t, entry, change[0])
		b := readBlock(t, parsedBlock(strings.Replace(entry, change[0], change[1], 1)))
		require.True(t, b.Partial(), change[1])
		require.Len(t, b.Unread, 1)
	}
}

// TestABlockInAnotherFormIsRefused: one whose transactions say nothing of what happened is no block
// of which a part could not be read.
func TestABlockInAnotherFormIsRefused(t *testing.T) {
	for _, entry := range []string{
		`{"transaction":{"signatures":["x"],"accountKeys":[]},"meta":{"err":null}}`,
		`{"transaction":["AQ==","hex"],"meta":{"err":null}}`,
		`{"transaction":{"signatures":["` + base58.Encode(make([]byte, 64)) + `"],"message":{"accountKeys":["K1"],"instructions":[]}},"meta":null}`,
	} {
		_, err := parse.Reader{}.BlockJSON(parsedBlock(entry, entry), 7)
		require.ErrorIs(t, err, parse.ErrUnsupported, entry)
	}
}
