package stream

// Field numbers of geyser.proto: SubscribeUpdateTransaction and SubscribeUpdateTransactionInfo.
const (
	fieldUpdateInfo, fieldUpdateSlot, fieldUpdateBank                                      = 1, 2, 3
	fieldInfoSignature, fieldInfoVote, fieldInfoTransaction, fieldInfoMeta, fieldInfoIndex = 1, 2, 3, 4, 5
)

// Field numbers of solana-storage.proto: Transaction and what is in it.
const (
	fieldTransactionSignatures, fieldTransactionMessage         = 1, 2
	fieldMessageHeader, fieldMessageKeys, fieldMessageBlockhash = 1, 2, 3
	fieldMessageInstructions, fieldMessageVersioned             = 4, 5
	fieldMessageLookups, fieldMessageConfig                     = 6, 7
	fieldHeaderSignatures                                       = 1
	fieldHeaderReadonlySigned, fieldHeaderReadonlyUnsigned      = 2, 3
	fieldLookupKey, fieldLookupWritable, fieldLookupReadonly    = 1, 2, 3
	fieldInstructionProgram, fieldInstructionAccounts           = 1, 2
	fieldInstructionData                                        = 3
	fieldInstructionStackHeight                                 = 4 // of inner instructions only
	fieldConfigFee, fieldConfigUnits                            = 1, 2
	fieldConfigLoaded, fieldConfigHeap                          = 3, 4
)

// Field numbers of solana-storage.proto: TransactionStatusMeta and what is in it.
const (
	fieldMetaErr, fieldMetaFee                                = 1, 2
	fieldMetaPreBalances, fieldMetaPostBalances               = 3, 4
	fieldMetaInner, fieldMetaLogs                             = 5, 6
	fieldMetaPreTokens, fieldMetaPostTokens                   = 7, 8
	fieldMetaInnerNone, fieldMetaLogsNone                     = 10, 11
	fieldMetaWritable, fieldMetaReadonly                      = 12, 13
	fieldMetaReturn, fieldMetaUnits, fieldMetaCost            = 14, 16, 17
	fieldErrorErr                                             = 1
	fieldInnerIndex, fieldInnerInstructions                   = 1, 2
	fieldBalanceAccount, fieldBalanceMint, fieldBalanceAmount = 1, 2, 3
	fieldBalanceOwner, fieldBalanceProgram                    = 4, 5
	fieldAmountUI, fieldAmountDecimals, fieldAmountAmount     = 1, 2, 3
	fieldAmountText                                           = 4
	fieldReturnProgram, fieldReturnData                       = 1, 2
)
