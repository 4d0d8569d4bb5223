package parse

// shape describes the accounts and data of one parsed token instruction.
type shape struct {
	// accounts are the fields that name the accounts, in order. If an instruction has no field
	// mint, its field account takes that place. Accounts that nobody reads are left out.
	accounts []string
	// signer is the field of the signing account, which comes last; empty if there is none.
	signer string
	data   []part
}

func sh(accounts []string, signer string, data ...part) shape { return shape{accounts, signer, data} }

func on(accounts ...string) []string { return accounts }

// shapes are the token instructions by their type. Field names and account orders are those of
// agave's transaction-status/src/parse_token.rs and parse_token/extension/*.rs. Numbers and layouts
// are those of the instruction.rs of spl-token-2022-interface, spl-token-metadata-interface and
// spl-token-group-interface. All that agave 4.3 parses are here, except batch. For instructions
// that change no mint and whose details nobody reads, the data has only the number.
var shapes = map[string]shape{
	"initializeMint":         sh(on("mint", "rentSysvar"), "", raw(0), number("decimals", 1), key("mintAuthority", false), option("freezeAuthority")),
	"initializeMint2":        sh(on("mint"), "", raw(20), number("decimals", 1), key("mintAuthority", false), option("freezeAuthority")),
	"initializeAccount":      sh(on("account", "mint", "owner", "rentSysvar"), "", raw(1)),
	"initializeAccount2":     sh(on("account", "mint", "rentSysvar"), "", raw(16), key("owner", false)),
	"initializeAccount3":     sh(on("account", "mint"), "", raw(18), key("owner", false)),
	"initializeMultisig":     sh(on("multisig", "rentSysvar"), "", raw(2), number("m", 1)),
	"initializeMultisig2":    sh(on("multisig"), "", raw(19), number("m", 1)),
	"transfer":               sh(on("source", "destination"), "authority", raw(3), amount("amount")),
	"approve":                sh(on("source", "delegate"), "owner", raw(4), amount("amount")),
	"revoke":                 sh(on("source"), "owner", raw(5)),
	"setAuthority":           sh(on("mint"), "authority", raw(6), word("authorityType", authorityTypes...), option("newAuthority")),
	"mintTo":                 sh(on("mint", "account"), "mintAuthority", raw(7), amount("amount")),
	"burn":                   sh(on("account", "mint"), "authority", raw(8), amount("amount")),
	"closeAccount":           sh(on("account", "destination"), "owner", raw(9)),
	"freezeAccount":          sh(on("account", "mint"), "freezeAuthority", raw(10)),
	"thawAccount":            sh(on("account", "mint"), "freezeAuthority", raw(11)),
	"transferChecked":        sh(on("source", "mint", "destination"), "authority", raw(12), tokenAmount("tokenAmount", true)),
	"approveChecked":         sh(on("source", "mint", "delegate"), "owner", raw(13), tokenAmount("tokenAmount", true)),
	"mintToChecked":          sh(on("mint", "account"), "mintAuthority", raw(14), tokenAmount("tokenAmount", true)),
	"burnChecked":            sh(on("account", "mint"), "authority", raw(15), tokenAmount("tokenAmount", true)),
	"syncNative":             sh(on("account"), "", raw(17)),
	"getAccountDataSize":     sh(on("mint"), "", raw(21)),
	"amountToUiAmount":       sh(on("mint"), "", raw(23), amount("amount")),
	"uiAmountToAmount":       sh(on("mint"), "", raw(24)),
	"withdrawExcessLamports": sh(on("source", "destination"), "authority", raw(38)),
	"unwrapLamports":         sh(on("source", "destination"), "authority", raw(45), optionalAmount("amount")),

	"initializeImmutableOwner":      sh(on("account"), "", raw(22)),
	"initializeMintCloseAuthority":  sh(on("mint"), "", raw(25), option("newAuthority")),
	"reallocate":                    sh(on("account"), "", raw(29)),
	"enableRequiredMemoTransfers":   sh(on("account"), "", raw(30, 0)),
	"disableRequiredMemoTransfers":  sh(on("account"), "", raw(30, 1)),
	"createNativeMint":              sh(on("payer", "nativeMint", "systemProgram"), "", raw(31)),
	"initializeNonTransferableMint": sh(on("mint"), "", raw(32)),
	"enableCpiGuard":                sh(on("account"), "", raw(34, 0)),
	"disableCpiGuard":               sh(on("account"), "", raw(34, 1)),
	"initializePermanentDelegate":   sh(on("mint"), "", raw(35), key("delegate", false)),

	"initializeTransferFeeConfig": sh(on("mint"), "", raw(26, 0), option("transferFeeConfigAuthority"), option("withdrawWithheldAuthority"),
		number("transferFeeBasisPoints", 2), number("maximumFee", 8)),
	"transferCheckedWithFee": sh(on("source", "mint", "destination"), "authority", raw(26, 1), tokenAmount("tokenAmount", true),
		tokenAmount("feeAmount", false)),
	"withdrawWithheldTokensFromMint":     sh(on("mint", "feeRecipient"), "", raw(26, 2)),
	"withdrawWithheldTokensFromAccounts": sh(on("mint", "feeRecipient"), "", raw(26, 3, 0)),
	"harvestWithheldTokensToMint":        sh(on("mint"), "", raw(26, 4), accountList("sourceAccounts")),
	"setTransferFee":                     sh(on("mint"), "transferFeeConfigAuthority", raw(26, 5), number("transferFeeBasisPoints", 2), number("maximumFee", 8)),

	"initializeDefaultAccountState":   sh(on("mint"), "", raw(28, 0), word("accountState", accountStates...)),
	"updateDefaultAccountState":       sh(on("mint"), "freezeAuthority", raw(28, 1), word("accountState", accountStates...)),
	"initializeInterestBearingConfig": sh(on("mint"), "", raw(33, 0), key("rateAuthority", true), signed("rate", 2)),
	"updateInterestBearingConfigRate": sh(on("mint"), "rateAuthority", raw(33, 1), signed("newRate", 2)),
	"initializeTransferHook":          sh(on("mint"), "", raw(36, 0), key("authority", true), key("programId", true)),
	"updateTransferHook":              sh(on("mint"), "authority", raw(36, 1), key("programId", true)),
	"initializeMetadataPointer":       sh(on("mint"), "", raw(39, 0), key("authority", true), key("metadataAddress", true)),
	"updateMetadataPointer":           sh(on("mint"), "authority", raw(39, 1), key("metadataAddress", true)),
	"initializeGroupPointer":          sh(on("mint"), "", raw(40, 0), key("authority", true), key("groupAddress", true)),
	"updateGroupPointer":              sh(on("mint"), "authority", raw(40, 1), key("groupAddress", true)),
	"initializeGroupMemberPointer":    sh(on("mint"), "", raw(41, 0), key("authority", true), key("memberAddress", true)),
	"updateGroupMemberPointer":        sh(on("mint"), "authority", raw(41, 1), key("memberAddress", true)),
	"initializeScaledUiAmountConfig":  sh(on("mint"), "", raw(43, 0), key("authority", true), float("multiplier")),
	"updateMultiplier":                sh(on("mint"), "authority", raw(43, 1), float("newMultiplier"), signed("newMultiplierTimestamp", 8)),
	"initializePausableConfig":        sh(on("mint"), "", raw(44, 0), key("authority", true)),
	"pause":                           sh(on("mint"), "authority", raw(44, 1)),
	"resume":                          sh(on("mint"), "authority", raw(44, 2)),

	"initializePermissionedBurnConfig": sh(on("mint"), "", raw(46, 0), key("authority", false)),
	"permissionedBurn":                 sh(on("account", "mint", "permissionedBurnAuthority"), "authority", raw(46, 1), amount("amount")),
	"permissionedBurnChecked":          sh(on("account", "mint", "permissionedBurnAuthority"), "authority", raw(46, 2), tokenAmount("tokenAmount", true)),
	"permissionedConfidentialBurn":     sh(on("account", "mint"), "", raw(46, 3)),

	"initializeConfidentialTransferMint": sh(on("mint"), "", raw(27, 0), key("authority", true), boolean("autoApproveNewAccounts"),
		inBase64("auditorElGamalPubkey", 32, true)),
	"updateConfidentialTransferMint": sh(on("mint"), "", raw(27, 1), boolean("autoApproveNewAccounts"), inBase64("auditorElGamalPubkey", 32, true)),
	// These are about token accounts, which are left out: versions of agave name the fields
	// differently, and nobody reads them.
	"configureConfidentialTransferAccount":                   sh(nil, "", raw(27, 2)),
	"approveConfidentialTransferAccount":                     sh(nil, "", raw(27, 3)),
	"emptyConfidentialTransferAccount":                       sh(nil, "", raw(27, 4)),
	"depositConfidentialTransfer":                            sh(nil, "", raw(27, 5)),
	"withdrawConfidentialTransfer":                           sh(nil, "", raw(27, 6)),
	"confidentialTransfer":                                   sh(nil, "", raw(27, 7)),
	"applyPendingConfidentialTransferBalance":                sh(nil, "", raw(27, 8)),
	"enableConfidentialTransferConfidentialCredits":          sh(nil, "", raw(27, 9)),
	"disableConfidentialTransferConfidentialCredits":         sh(nil, "", raw(27, 10)),
	"enableConfidentialTransferNonConfidentialCredits":       sh(nil, "", raw(27, 11)),
	"disableConfidentialTransferNonConfidentialCredits":      sh(nil, "", raw(27, 12)),
	"confidentialTransferWithFee":                            sh(nil, "", raw(27, 13)),
	"configureConfidentialAccountWithRegistry":               sh(nil, "", raw(27, 14)),
	"withdrawWithheldConfidentialTransferTokensFromAccounts": sh(nil, "", raw(37, 2)),

	"initializeConfidentialTransferFeeConfig": sh(on("mint"), "", raw(37, 0), key("authority", true),
		inBase64("withdrawWithheldAuthorityElGamalPubkey", 32, true)),
	"withdrawWithheldConfidentialTransferTokensFromMint": sh(on("mint"), "", raw(37, 1)),
	"harvestWithheldConfidentialTransferTokensToMint":    sh(on("mint"), "", raw(37, 3)),
	"enableConfidentialTransferFeeHarvestToMint":         sh(on("mint"), "", raw(37, 4)),
	"disableConfidentialTransferFeeHarvestToMint":        sh(on("mint"), "", raw(37, 5)),

	"initializeConfidentialMintBurnMint": sh(on("mint"), "", raw(42, 0), inBase64("supplyElGamalPubkey", 32, false),
		inBase64("decryptableSupply", 36, false)),
	"rotateConfidentialMintBurnSupplyElGamalPubkey": sh(on("mint"), "", raw(42, 1), inBase64("newSupplyElGamalPubkey", 32, false)),
	"updateConfidentialMintBurnDecryptableSupply":   sh(on("mint"), "", raw(42, 2), inBase64("newDecryptableSupply", 36, false)),
	"confidentialMint": sh(on("destination", "mint"), "", raw(42, 3), inBase64("newDecryptableSupply", 36, false)),
	"confidentialBurn": sh(on("destination", "mint"), "", raw(42, 4)),
	"applyPendingBurn": sh(on("mint"), "", raw(42, 5)),

	"initializeTokenMetadata": sh(on("metadata", "updateAuthority", "mint", "mintAuthority"), "", raw(210, 225, 30, 162, 88, 184, 77, 141),
		str("name"), str("symbol"), str("uri")),
	"updateTokenMetadataField": sh(on("metadata", "updateAuthority"), "", raw(221, 233, 49, 45, 181, 202, 220, 200), metadataField("field"), str("value")),
	"removeTokenMetadataKey":   sh(on("metadata", "updateAuthority"), "", raw(234, 18, 32, 56, 89, 141, 37, 181), boolean("idempotent"), str("key")),
	"updateTokenMetadataAuthority": sh(on("metadata", "updateAuthority"), "", raw(215, 228, 166, 228, 84, 100, 86, 123),
		key("newAuthority", true)),
	"emitTokenMetadata": sh(on("metadata"), "", raw(250, 166, 180, 250, 13, 12, 184, 70)),

	"initializeTokenGroup": sh(on("group", "mint", "mintAuthority"), "", raw(121, 113, 108, 39, 54, 51, 0, 4), key("updateAuthority", true),
		number("maxSize", 8)),
	"updateTokenGroupMaxSize":   sh(on("group", "updateAuthority"), "", raw(108, 37, 171, 143, 248, 30, 18, 110), number("maxSize", 8)),
	"updateTokenGroupAuthority": sh(on("group", "updateAuthority"), "", raw(161, 105, 88, 1, 237, 221, 216, 203), key("newAuthority", true)),
	"initializeTokenGroupMember": sh(on("member", "memberMint", "memberMintAuthority", "group", "groupUpdateAuthority"), "",
		raw(152, 32, 222, 176, 223, 237, 116, 134)),
}

// authorityTypes are the names of AuthorityType in agave (UiAuthorityType), by number.
var authorityTypes = []string{"mintTokens", "freezeAccount", "accountOwner", "closeAccount", "transferFeeConfig", "withheldWithdraw", "closeMint",
	"interestRate", "permanentDelegate", "confidentialTransferMint", "transferHookProgramId", "confidentialTransferFeeConfig", "metadataPointer",
	"groupPointer", "groupMemberPointer", "scaledUiAmount", "pause", "permissionedBurn"}

// accountStates are the names of AccountState, by number.
var accountStates = []string{"uninitialized", "initialized", "frozen"}
