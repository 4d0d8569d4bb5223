// Every mint extension of Token-2022 and every instruction that changes one.
import { bytes } from "../world.mjs";
import { begin, createMint, extended as x, tokenAccount } from "./build.mjs";

const { AuthorityType } = x;
const set = (owned, owner, authorityType, newAuthority) => x.getSetAuthorityInstruction({ owned: owned.address, owner, authorityType, newAuthority });

// mintTo makes associated token accounts for the owners and gives the first one tokens.
async function mintTo(world, mint, authority, owners, amount) {
  const atas = await Promise.all(owners.map((owner) => tokenAccount(world, owner.address, mint.address)));
  await world.step("token accounts, MintTo", [
    ...atas.map(([, create]) => create),
    x.getMintToInstruction({ mint: mint.address, token: atas[0][0], mintAuthority: authority, amount }),
  ]);
  return atas.map(([ata]) => ata);
}

export async function transferFee() {
  const { world, mint, authority, other, holder } = await begin("transfer-fee");
  const at = { mint: mint.address };
  await world.step("InitializeTransferFeeConfig", createMint(world, mint, {
    authority: authority.address,
    extensions: { transferFeeConfig: x.getInitializeTransferFeeConfigInstruction({ ...at, transferFeeConfigAuthority: authority.address, withdrawWithheldAuthority: authority.address, transferFeeBasisPoints: 100, maximumFee: 5_000n }) },
  }));
  const [from, to] = await mintTo(world, mint, authority, [holder, other], 1_000_000n);
  await world.step("TransferCheckedWithFee", [x.getTransferCheckedWithFeeInstruction({ ...at, source: from, destination: to, authority: holder, amount: 100_000n, decimals: 6, fee: 1_000n })]);
  await world.step("HarvestWithheldTokensToMint", [x.getHarvestWithheldTokensToMintInstruction({ ...at, sources: [to] })]);
  await world.step("WithdrawWithheldTokensFromMint", [x.getWithdrawWithheldTokensFromMintInstruction({ ...at, feeReceiver: from, withdrawWithheldAuthority: authority })]);
  await world.step("TransferChecked with a fee, WithdrawWithheldTokensFromAccounts", [
    x.getTransferCheckedInstruction({ ...at, source: from, destination: to, authority: holder, amount: 50_000n, decimals: 6 }),
    x.getWithdrawWithheldTokensFromAccountsInstruction({ ...at, feeReceiver: from, withdrawWithheldAuthority: authority, numTokenAccounts: 1, sources: [to] }),
  ]);
  await world.step("SetTransferFee", [x.getSetTransferFeeInstruction({ ...at, transferFeeConfigAuthority: authority, transferFeeBasisPoints: 250, maximumFee: 18_446_744_073_709_551_615n })]);
  world.nextEpoch();
  world.nextEpoch();
  world.nextEpoch();
  await world.step("SetTransferFee, epochs later", [x.getSetTransferFeeInstruction({ ...at, transferFeeConfigAuthority: authority, transferFeeBasisPoints: 0, maximumFee: 0n })]);
  await world.step("SetAuthority transfer_fee_config, withheld_withdraw", [
    set(mint, authority, AuthorityType.TransferFeeConfig, other.address), set(mint, authority, AuthorityType.WithheldWithdraw, null),
  ]);
  return world;
}

export async function authorities() {
  const { world, mint, authority, other, holder } = await begin("authorities");
  const at = { mint: mint.address };
  await world.step("InitializeMintCloseAuthority, InitializePermanentDelegate, InitializeNonTransferableMint, InitializeDefaultAccountState", createMint(world, mint, {
    authority: authority.address, freeze: authority.address, decimals: 0,
    extensions: {
      mintCloseAuthority: x.getInitializeMintCloseAuthorityInstruction({ ...at, closeAuthority: authority.address }),
      permanentDelegate: x.getInitializePermanentDelegateInstruction({ ...at, delegate: authority.address }),
      nonTransferable: x.getInitializeNonTransferableMintInstruction(at),
      defaultAccountState: x.getInitializeDefaultAccountStateInstruction({ ...at, state: x.AccountState.Frozen }),
    },
  }));
  await world.step("UpdateDefaultAccountState", [x.getUpdateDefaultAccountStateInstruction({ ...at, freezeAuthority: authority, state: x.AccountState.Initialized })]);
  const [held] = await mintTo(world, mint, authority, [holder], 10n);
  await world.step("Burn by the permanent delegate", [x.getBurnInstruction({ ...at, account: held, authority, amount: 10n })]);
  await world.step("SetAuthority close_mint, permanent_delegate", [
    set(mint, authority, AuthorityType.CloseMint, other.address), set(mint, authority, AuthorityType.PermanentDelegate, null),
  ]);
  await world.step("CloseAccount of the mint alone", [x.getCloseAccountInstruction({ account: mint.address, destination: other.address, owner: other })]);
  // Its token account outlives it, and no node lists a balance whose mint is gone.
  await world.step("CloseAccount of a token account whose mint is gone", [x.getCloseAccountInstruction({ account: held, destination: holder.address, owner: holder })]);
  const [short, shortAccount] = await Promise.all(["short", "short account"].map((n) => world.key(n)));
  await world.step("InitializeMint2, CloseAccount in one", [
    ...createMint(world, short, {
      authority: authority.address,
      extensions: { mintCloseAuthority: x.getInitializeMintCloseAuthorityInstruction({ mint: short.address, closeAuthority: authority.address }) },
    }),
    x.getCloseAccountInstruction({ account: short.address, destination: other.address, owner: authority }),
  ]);
  await world.step("without a close authority", createMint(world, shortAccount, {
    authority: authority.address,
    extensions: { mintCloseAuthority: x.getInitializeMintCloseAuthorityInstruction({ mint: shortAccount.address, closeAuthority: null }) },
  }));
  const [ata, create] = await tokenAccount(world, holder.address, shortAccount.address);
  await world.step("a token account made and closed in one", [create, x.getCloseAccountInstruction({ account: ata, destination: holder.address, owner: holder })]);
  await world.step("Reallocate, memos, CPI guard", [
    create,
    x.getReallocateInstruction({ token: ata, payer: world.payer, owner: holder, newExtensionTypes: [x.ExtensionType.MemoTransfer, x.ExtensionType.CpiGuard] }),
    x.getEnableMemoTransfersInstruction({ token: ata, owner: holder }), x.getDisableMemoTransfersInstruction({ token: ata, owner: holder }),
    x.getEnableCpiGuardInstruction({ token: ata, owner: holder }), x.getDisableCpiGuardInstruction({ token: ata, owner: holder }),
  ]);
  return world;
}

export async function amounts() {
  const { world, mint, authority, other } = await begin("amounts");
  const scaled = await world.key("scaled");
  await world.step("InitializeInterestBearingMint", createMint(world, mint, {
    authority: authority.address,
    extensions: { interestBearing: x.getInitializeInterestBearingMintInstruction({ mint: mint.address, rateAuthority: authority.address, rate: -75 }) },
  }));
  await world.step("UpdateRateInterestBearingMint", [x.getUpdateRateInterestBearingMintInstruction({ mint: mint.address, rateAuthority: authority, rate: 425 })]);
  await world.step("UpdateRateInterestBearingMint again", [x.getUpdateRateInterestBearingMintInstruction({ mint: mint.address, rateAuthority: authority, rate: 0 })]);
  await world.step("SetAuthority interest_rate", [set(mint, authority, AuthorityType.InterestRate, null)]);
  const at = { mint: scaled.address };
  await world.step("InitializeScaledUiAmountMint", createMint(world, scaled, {
    authority: authority.address,
    extensions: { scaledUiAmount: x.getInitializeScaledUiAmountMintInstruction({ ...at, authority: authority.address, multiplier: 1.5 }) },
  }));
  await world.step("UpdateMultiplierScaledUiMint at once", [x.getUpdateMultiplierScaledUiMintInstruction({ ...at, authority, multiplier: 2.25, effectiveTimestamp: -5n })]);
  await world.step("UpdateMultiplierScaledUiMint later", [x.getUpdateMultiplierScaledUiMintInstruction({ ...at, authority, multiplier: 1e-7, effectiveTimestamp: world.now() + 1_000_000n })]);
  await world.step("SetAuthority scaled_ui_amount", [set(scaled, authority, AuthorityType.ScaledUiAmount, other.address)]);
  return world;
}

export async function control() {
  const { world, mint, authority, other, holder } = await begin("control");
  const at = { mint: mint.address }, hook = world.address("hook program");
  await world.step("InitializePausableConfig, InitializeTransferHook, InitializePermissionedBurn", createMint(world, mint, {
    authority: authority.address,
    extensions: {
      pausable: x.getInitializePausableConfigInstruction({ ...at, authority: authority.address }),
      transferHook: x.getInitializeTransferHookInstruction({ ...at, authority: authority.address, programId: null }),
      permissionedBurn: x.getInitializePermissionedBurnInstruction({ ...at, authority: authority.address }),
    },
  }));
  const [held] = await mintTo(world, mint, authority, [holder], 1_000n);
  await world.step("UpdateTransferHook", [x.getUpdateTransferHookInstruction({ ...at, authority, programId: hook })]);
  await world.step("PermissionedBurn, PermissionedBurnChecked", [
    x.getPermissionedBurnInstruction({ ...at, account: held, permissionedBurnAuthority: authority, authority: holder, amount: 100n }),
    x.getPermissionedBurnCheckedInstruction({ ...at, account: held, permissionedBurnAuthority: authority, authority: holder, amount: 23n, decimals: 6 }),
  ]);
  await world.step("Pause", [x.getPauseInstruction({ ...at, authority })]);
  await world.step("Burn while paused fails", [x.getPermissionedBurnInstruction({ ...at, account: held, permissionedBurnAuthority: authority, authority: holder, amount: 1n })], { fails: true });
  await world.step("Resume", [x.getResumeInstruction({ ...at, authority })]);
  await world.step("SetAuthority pause, transfer_hook_program_id, permissioned_burn", [
    set(mint, authority, AuthorityType.Pause, other.address), set(mint, authority, AuthorityType.TransferHookProgramId, null),
    set(mint, authority, AuthorityType.PermissionedBurn, other.address),
  ]);
  await world.step("UpdateTransferHook after it was given up fails", [x.getUpdateTransferHookInstruction({ ...at, authority, programId: null })], { fails: true });
  return world;
}

// confidential: what sets up and changes the mint without a proof. For the rest see confidential.mjs.
export async function confidential() {
  const { world, mint, authority, other } = await begin("confidential");
  const burnable = await world.key("burnable");
  const at = { mint: mint.address };
  await world.step("InitializeConfidentialTransferMint, InitializeConfidentialTransferFee", createMint(world, mint, {
    authority: authority.address,
    extensions: {
      confidentialTransferMint: x.getInitializeConfidentialTransferMintInstruction({ ...at, authority: authority.address, autoApproveNewAccounts: false, auditorElgamalPubkey: null }),
      transferFeeConfig: x.getInitializeTransferFeeConfigInstruction({ ...at, transferFeeConfigAuthority: authority.address, withdrawWithheldAuthority: authority.address, transferFeeBasisPoints: 1, maximumFee: 2n }),
      confidentialTransferFee: x.getInitializeConfidentialTransferFeeInstruction({ ...at, authority: authority.address, withdrawWithheldAuthorityElGamalPubkey: world.address("elgamal") }),
    },
  }));
  await world.step("UpdateConfidentialTransferMint", [x.getUpdateConfidentialTransferMintInstruction({ ...at, authority, autoApproveNewAccounts: true, auditorElgamalPubkey: world.address("auditor") })]);
  await world.step("DisableHarvestToMint", [x.getDisableHarvestToMintInstruction({ ...at, authority })]);
  await world.step("EnableHarvestToMint", [x.getEnableHarvestToMintInstruction({ ...at, authority })]);
  await world.step("HarvestWithheldTokensToMint of nothing", [x.getHarvestWithheldTokensToMintForConfidentialTransferFeeInstruction({ ...at, sources: [] })]);
  await world.step("SetAuthority confidential_transfer_mint, confidential_transfer_fee_config", [
    set(mint, authority, AuthorityType.ConfidentialTransferMint, null), set(mint, authority, AuthorityType.ConfidentialTransferFeeConfig, other.address),
  ]);
  const cipher = (name) => Buffer.concat([bytes(world.address(name)), Buffer.alloc(4, 7)]);
  await world.step("InitializeConfidentialMintBurn", createMint(world, burnable, {
    authority: authority.address,
    extensions: {
      confidentialTransferMint: x.getInitializeConfidentialTransferMintInstruction({ mint: burnable.address, authority: null, autoApproveNewAccounts: true, auditorElgamalPubkey: null }),
      confidentialMintBurn: x.getInitializeConfidentialMintBurnInstruction({ mint: burnable.address, supplyElgamalPubkey: world.address("supply"), decryptableSupply: cipher("zero") }),
    },
  }));
  await world.step("UpdateDecryptableSupply", [x.getUpdateConfidentialMintBurnDecryptableSupplyInstruction({ mint: burnable.address, authority, newDecryptableSupply: cipher("one") })]);
  await world.step("ApplyPendingBurn", [x.getApplyConfidentialPendingBurnInstruction({ mint: burnable.address, authority })]);
  return world;
}

export async function metadata() {
  const { world, mint, authority, other } = await begin("metadata");
  const at = { mint: mint.address };
  await world.step("InitializeMetadataPointer, InitializeTokenMetadata", [
    ...createMint(world, mint, {
      authority: authority.address,
      extensions: { metadataPointer: x.getInitializeMetadataPointerInstruction({ ...at, authority: authority.address, metadataAddress: mint.address }) },
    }),
    x.getInitializeTokenMetadataInstruction({ metadata: mint.address, updateAuthority: authority.address, mint: mint.address, mintAuthority: authority, name: " Probe\0\0", symbol: "PRB", uri: "https://example.com/a.json" }),
  ]);
  const update = (field, value) => x.getUpdateTokenMetadataFieldInstruction({ metadata: mint.address, updateAuthority: authority, field, value });
  const key = (name) => x.tokenMetadataField("Key", [name]);
  await world.step("UpdateField of name, symbol, uri", [
    update(x.tokenMetadataField("Name"), "Prüfung 検査"), update(x.tokenMetadataField("Symbol"), ""), update(x.tokenMetadataField("Uri"), "ipfs://b"),
  ]);
  await world.step("UpdateField of own keys", [update(key("website"), "https://example.com"), update(key("colour"), "red"), update(key("colour"), "blue")]);
  await world.step("RemoveKey", [
    x.getRemoveTokenMetadataKeyInstruction({ metadata: mint.address, updateAuthority: authority, idempotent: false, key: "website" }),
    x.getRemoveTokenMetadataKeyInstruction({ metadata: mint.address, updateAuthority: authority, idempotent: true, key: "none of these" }),
  ]);
  await world.step("Emit", [x.getEmitTokenMetadataInstruction({ metadata: mint.address, start: 0n, end: 8n })]);
  await world.step("UpdateMetadataPointer away", [x.getUpdateMetadataPointerInstruction({ ...at, metadataPointerAuthority: authority, metadataAddress: other.address })]);
  await world.step("UpdateMetadataPointer to nothing", [x.getUpdateMetadataPointerInstruction({ ...at, metadataPointerAuthority: authority, metadataAddress: null })]);
  await world.step("UpdateMetadataPointer back, SetAuthority metadata_pointer", [
    x.getUpdateMetadataPointerInstruction({ ...at, metadataPointerAuthority: authority, metadataAddress: mint.address }),
    set(mint, authority, AuthorityType.MetadataPointer, null),
  ]);
  const authorityTo = (owner, next) => x.getUpdateTokenMetadataUpdateAuthorityInstruction({ metadata: mint.address, updateAuthority: owner, newUpdateAuthority: next });
  await world.step("UpdateAuthority", [authorityTo(authority, other.address)]);
  await world.step("UpdateAuthority to none", [authorityTo(other, null)]);
  return world;
}

export async function group() {
  const { world, mint, authority, other } = await begin("group");
  const members = await Promise.all(["member", "member2"].map((n) => world.key(n)));
  const at = { mint: mint.address };
  await world.step("InitializeGroupPointer, InitializeGroup", [
    ...createMint(world, mint, {
      authority: authority.address,
      extensions: { groupPointer: x.getInitializeGroupPointerInstruction({ ...at, authority: authority.address, groupAddress: mint.address }) },
    }),
    x.getInitializeTokenGroupInstruction({ group: mint.address, mint: mint.address, mintAuthority: authority, updateAuthority: authority.address, maxSize: 3n }),
  ]);
  for (const member of members) {
    await world.step("InitializeGroupMemberPointer, InitializeMember", [
      ...createMint(world, member, {
        authority: authority.address,
        extensions: { groupMemberPointer: x.getInitializeGroupMemberPointerInstruction({ mint: member.address, authority: authority.address, memberAddress: member.address }) },
      }),
      x.getInitializeTokenGroupMemberInstruction({ member: member.address, memberMint: member.address, memberMintAuthority: authority, group: mint.address, groupUpdateAuthority: authority }),
    ]);
  }
  await world.step("UpdateGroupMaxSize", [x.getUpdateTokenGroupMaxSizeInstruction({ group: mint.address, updateAuthority: authority, maxSize: 2n })]);
  await world.step("UpdateGroupPointer, UpdateGroupMemberPointer", [
    x.getUpdateGroupPointerInstruction({ ...at, groupPointerAuthority: authority, groupAddress: null }),
    x.getUpdateGroupMemberPointerInstruction({ mint: members[0].address, groupMemberPointerAuthority: authority, memberAddress: other.address }),
  ]);
  await world.step("SetAuthority group_pointer, group_member_pointer", [
    set(mint, authority, AuthorityType.GroupPointer, null), set(members[0], authority, AuthorityType.GroupMemberPointer, other.address),
  ]);
  const authorityTo = (owner, next) => x.getUpdateTokenGroupUpdateAuthorityInstruction({ group: mint.address, updateAuthority: owner, newUpdateAuthority: next });
  await world.step("UpdateGroupAuthority", [authorityTo(authority, other.address)]);
  await world.step("UpdateGroupAuthority to none", [authorityTo(other, null)]);
  return world;
}
