// The instructions of confidential transfers that need zero-knowledge proofs, or an account that such a proof configured.
import { getProgramDerivedAddress } from "@solana/kit";
import { contexts, draw, extension, inline } from "../draws.mjs";
import { bytes } from "../world.mjs";
import { begin, createMint, extended as x, tokenAccount } from "./build.mjs";

const SYSVAR_INSTRUCTIONS = "Sysvar1nstructions1111111111111111111111111";
const REGISTRY_PROGRAM = "regVYJW7tcT8zipN5YiBvHsvR5jXW1uLFxaHSbugABg";
const DECIMALS = 6;
const address = (world, name, { pubkey }) => world.at32(name, pubkey);
const inThisTransaction = { instructionsSysvarOrContextState: SYSVAR_INSTRUCTIONS, proofInstructionOffset: -1 };

// Extension types, and where their values hold a ciphertext.
const available = (world, token) => extension(world, token, 5, 161, 225);
const withheldByAccount = (world, token) => extension(world, token, 17, 0, 64);
const withheldByMint = (world, mint) => extension(world, mint, 16, 65, 129);
const supply = (world, mint) => extension(world, mint, 24, 0, 64);

// elgamal is the address form of the public key that a name has.
const elgamal = (world, name) => address(world, `${name} elgamal`, draw(world, `key of ${name}`, (zk) => ({ pubkey: zk.key(name).pubkey.toBytes() })));

// configure makes an associated token account that takes confidential transfers.
async function configure(world, owner, mint, extraTypes = []) {
  const name = world.names[owner.address], [token, create] = await tokenAccount(world, owner.address, mint.address);
  elgamal(world, name);
  const drawn = draw(world, `${name} configures`, (zk) => zk.configure(zk.key(name)));
  await world.step(`ConfigureAccount of ${name}`, [
    create, x.getReallocateInstruction({ token, payer: world.payer, owner, newExtensionTypes: [x.ExtensionType.ConfidentialTransferAccount, ...extraTypes] }),
    inline(drawn, "pubkeyValidity"),
    x.getConfigureConfidentialTransferAccountInstruction({ token, mint: mint.address, authority: owner, decryptableZeroBalance: drawn.decryptable, maximumPendingBalanceCreditCounter: 100n, ...inThisTransaction }),
  ]);
  return token;
}

function apply(world, owner, token, counter, amount) {
  const name = world.names[owner.address];
  const drawn = draw(world, `${name} applies ${amount}`, (zk) => zk.amount(zk.key(name), amount));
  return world.step(`ApplyPendingBalance of ${name}`, [
    x.getApplyConfidentialPendingBalanceInstruction({ token, authority: owner, expectedPendingBalanceCreditCounter: counter, newDecryptableAvailableBalance: drawn.decryptable }),
  ]);
}

const deposit = (world, owner, mint, authority, token, amount) => world.step("MintTo, Deposit", [
  x.getMintToInstruction({ mint: mint.address, token, mintAuthority: authority, amount }),
  x.getConfidentialDepositInstruction({ token, mint: mint.address, authority: owner, amount, decimals: DECIMALS }),
]);

// proven runs an instruction behind the proofs it needs, which context accounts keep.
async function proven(world, name, drawn, instruction) {
  const { instructions, at } = contexts(world, name, drawn);
  await world.step(`proofs of ${name}`, instructions);
  await world.step(name, [instruction({
    equalityRecord: at.commitmentEquality, equalityProofInstructionOffset: 0, rangeProofInstructionOffset: 0,
    rangeRecord: at.range64 ?? at.range128 ?? at.range256, newDecryptableAvailableBalance: drawn.decryptable,
  }, at)]);
}

const validity = (at) => ({ ciphertextValidityRecord: at.validity3, ciphertextValidityProofInstructionOffset: 0 });

export async function confidentialAccounts() {
  const { world, mint, authority, other, holder } = await begin("confidential-accounts");
  const at = { mint: mint.address }, auditor = elgamal(world, "auditor"), third = await world.key("third");
  await world.step("InitializeConfidentialTransferMint", createMint(world, mint, {
    authority: authority.address,
    extensions: { confidentialTransferMint: x.getInitializeConfidentialTransferMintInstruction({ ...at, authority: authority.address, autoApproveNewAccounts: false, auditorElgamalPubkey: auditor }) },
  }));
  const from = await configure(world, holder, mint), to = await configure(world, other, mint);
  await world.step("ApproveAccount", [from, to].map((token) => x.getApproveConfidentialTransferAccountInstruction({ ...at, token, authority })));
  await world.step("credits disabled and enabled", [
    x.getDisableNonConfidentialCreditsInstruction({ token: from, authority: holder }), x.getEnableNonConfidentialCreditsInstruction({ token: from, authority: holder }),
    x.getDisableConfidentialCreditsInstruction({ token: from, authority: holder }), x.getEnableConfidentialCreditsInstruction({ token: from, authority: holder }),
  ]);
  await deposit(world, holder, mint, authority, from, 1_000_000n);
  await apply(world, holder, from, 1n, 1_000_000n);
  const moved = draw(world, "transfer", (zk) => zk.move({ keys: ["holder", "other", "auditor"].map(zk.key), index: 0, sign: -1, balance: available(world, from), n: 400_000n, left: 600_000n }));
  await proven(world, "confidential Transfer", moved, (proofs, records) => x.getConfidentialTransferInstruction({
    ...at, sourceToken: from, destinationToken: to, authority: holder, ...proofs, ...validity(records), newSourceDecryptableAvailableBalance: moved.decryptable,
    transferAmountAuditorCiphertextLo: moved.auditorLo, transferAmountAuditorCiphertextHi: moved.auditorHi,
  }));
  await apply(world, other, to, 1n, 400_000n);
  const withdrawn = draw(world, "withdrawal", (zk) => zk.withdraw(zk.key("other"), available(world, to), 400_000n, 0n));
  await proven(world, "confidential Withdraw", withdrawn, (proofs) => x.getConfidentialWithdrawInstruction({ ...at, token: to, authority: other, amount: 400_000n, decimals: DECIMALS, ...proofs }));
  const nothing = draw(world, "emptied", (zk) => zk.empty(zk.key("other"), available(world, to)));
  await world.step("EmptyAccount", [inline(nothing, "zeroCiphertext"), x.getEmptyConfidentialTransferAccountInstruction({ token: to, authority: other, ...inThisTransaction })]);
  // The registry's account is put there as its program would leave it: the owner, and the owner's key.
  const [registry] = await getProgramDerivedAddress({ programAddress: REGISTRY_PROGRAM, seeds: ["elgamal-registry", bytes(third.address)] });
  world.names[registry] = "registry";
  const [registered, create] = await tokenAccount(world, third.address, mint.address);
  world.put(registry, REGISTRY_PROGRAM, Buffer.concat([bytes(third.address), bytes(elgamal(world, "third"))]));
  await world.step("ConfigureAccountWithRegistry", [create, x.getConfigureConfidentialTransferAccountWithRegistryInstruction({ ...at, token: registered, elgamalRegistry: registry, payer: world.payer, systemProgram: "11111111111111111111111111111111" })]);
  return world;
}

export async function confidentialFees() {
  const { world, mint, authority, other, holder } = await begin("confidential-fees");
  const at = { mint: mint.address }, collector = elgamal(world, "authority"), auditor = elgamal(world, "auditor");
  await world.step("InitializeConfidentialTransferFeeConfig", createMint(world, mint, {
    authority: authority.address,
    extensions: {
      confidentialTransferMint: x.getInitializeConfidentialTransferMintInstruction({ ...at, authority: authority.address, autoApproveNewAccounts: true, auditorElgamalPubkey: auditor }),
      transferFeeConfig: x.getInitializeTransferFeeConfigInstruction({ ...at, transferFeeConfigAuthority: authority.address, withdrawWithheldAuthority: authority.address, transferFeeBasisPoints: 100, maximumFee: 5_000n }),
      confidentialTransferFee: x.getInitializeConfidentialTransferFeeInstruction({ ...at, authority: authority.address, withdrawWithheldAuthorityElGamalPubkey: collector }),
    },
  }));
  const types = [x.ExtensionType.ConfidentialTransferFee + 1]; // ConfidentialTransferFeeAmount follows the mint's extension
  const from = await configure(world, holder, mint, types), to = await configure(world, other, mint, types);
  await deposit(world, holder, mint, authority, from, 1_000_000n);
  await apply(world, holder, from, 1n, 1_000_000n);
  const transfer = async (name, n, left) => {
    const moved = draw(world, name, (zk) => zk.moveWithFee({
      keys: ["holder", "other", "auditor"].map(zk.key), collector: zk.key("authority"), balance: available(world, from), n, left, basisPoints: 100n, maximum: 5_000n,
    }));
    await proven(world, name, moved, (proofs, records) => x.getConfidentialTransferWithFeeInstruction({
      ...at, sourceToken: from, destinationToken: to, authority: holder, ...proofs, newSourceDecryptableAvailableBalance: moved.decryptable,
      transferAmountAuditorCiphertextLo: moved.auditorLo, transferAmountAuditorCiphertextHi: moved.auditorHi,
      transferAmountCiphertextValidityRecord: records.validity3, transferAmountCiphertextValidityProofInstructionOffset: 0,
      feeSigmaRecord: records.percentage, feeSigmaProofInstructionOffset: 0, feeCiphertextValidityRecord: records.validity2, feeCiphertextValidityProofInstructionOffset: 0,
    }));
  };
  const withdraw = async (name, ciphertext, n, instruction) => {
    const drawn = draw(world, name, (zk) => zk.same(zk.key("authority"), ciphertext(), zk.key("holder"), n));
    await world.step(name, [inline(drawn, "ciphertextEquality"), instruction({ ...at, destination: from, authority, newDecryptableAvailableBalance: drawn.decryptable, ...inThisTransaction })]);
  };
  await transfer("confidential TransferWithFee", 100_050n, 899_950n); // the fee: 1001, rounded up
  await withdraw("WithdrawWithheldTokensFromAccounts", () => withheldByAccount(world, to), 1_001n, (common) => {
    const instruction = x.getWithdrawWithheldTokensFromAccountsForConfidentialTransferFeeInstruction({ ...common, numTokenAccounts: 1 });
    return { ...instruction, accounts: [...instruction.accounts, { address: to, role: 1 }] }; // the client leaves out the sources
  });
  await transfer("confidential TransferWithFee again", 200_000n, 700_951n); // of what was left and the fee withdrawn
  await world.step("HarvestWithheldTokensToMint", [x.getHarvestWithheldTokensToMintForConfidentialTransferFeeInstruction({ ...at, sources: [to] })]);
  await withdraw("WithdrawWithheldTokensFromMint", () => withheldByMint(world, mint.address), 2_000n, (common) =>
    x.getWithdrawWithheldTokensFromMintForConfidentialTransferFeeInstruction(common));
  return world;
}

export async function confidentialMintBurn() {
  const { world, mint, authority, holder } = await begin("confidential-mint-burn");
  const permissioned = await world.key("permissioned"), auditor = elgamal(world, "auditor");
  for (const m of [mint, permissioned]) {
    const at = { mint: m.address }, name = world.names[m.address];
    const zero = draw(world, `no supply of ${name}`, (zk) => zk.amount(zk.key("supply"), 0n));
    const permission = m === permissioned ? { permissionedBurn: x.getInitializePermissionedBurnInstruction({ ...at, authority: authority.address }) } : {};
    await world.step(`InitializeConfidentialMintBurn of ${name}`, createMint(world, m, {
      authority: authority.address,
      extensions: {
        confidentialTransferMint: x.getInitializeConfidentialTransferMintInstruction({ ...at, authority: authority.address, autoApproveNewAccounts: true, auditorElgamalPubkey: auditor }),
        confidentialMintBurn: x.getInitializeConfidentialMintBurnInstruction({ ...at, supplyElgamalPubkey: elgamal(world, "supply"), decryptableSupply: zero.decryptable }),
        ...permission,
      },
    }));
    const token = await configure(world, holder, m);
    const minted = draw(world, `mint of ${name}`, (zk) => zk.move({ keys: ["holder", "supply", "auditor"].map(zk.key), index: 1, sign: 1, balance: supply(world, m.address), n: 500_000n, left: 500_000n }));
    await proven(world, `ConfidentialMint of ${name}`, minted, (proofs, records) => x.getConfidentialMintInstruction({
      ...at, token, authority, ...proofs, ...validity(records), newDecryptableSupply: minted.decryptable, mintAmountAuditorCiphertextLo: minted.auditorLo, mintAmountAuditorCiphertextHi: minted.auditorHi,
    }));
    await apply(world, holder, token, 1n, 500_000n);
    const burnt = draw(world, `burn of ${name}`, (zk) => zk.move({ keys: ["holder", "supply", "auditor"].map(zk.key), index: 0, sign: -1, balance: available(world, token), n: 200_000n, left: 300_000n }));
    await proven(world, m === mint ? "ConfidentialBurn" : "PermissionedConfidentialBurn", burnt, (proofs, records) => {
      const input = { ...at, token, authority: holder, ...proofs, ...validity(records), burnAmountAuditorCiphertextLo: burnt.auditorLo, burnAmountAuditorCiphertextHi: burnt.auditorHi };
      return m === mint ? x.getConfidentialBurnInstruction(input) : x.getPermissionedConfidentialBurnInstruction({ ...input, permissionedBurnAuthority: authority });
    });
    await world.step(`ApplyPendingBurn of ${name}`, [x.getApplyConfidentialPendingBurnInstruction({ ...at, authority })]);
  }
  const at = { mint: mint.address };
  const rotated = draw(world, "rotation", (zk) => zk.same(zk.key("supply"), supply(world, mint.address), zk.key("next supply"), 300_000n));
  await world.step("RotateSupplyElGamalPubkey", [inline(rotated, "ciphertextEquality"), x.getRotateSupplyElgamalPubkeyInstruction({ ...at, authority, newSupplyElgamalPubkey: elgamal(world, "next supply"), ...inThisTransaction })]);
  await world.step("UpdateDecryptableSupply", [x.getUpdateConfidentialMintBurnDecryptableSupplyInstruction({ ...at, authority, newDecryptableSupply: rotated.decryptable })]);
  return world;
}
