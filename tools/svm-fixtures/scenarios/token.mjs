// Every instruction that the two token programs share, run on both: SPL Token is p-token here, with Batch, WithdrawExcessLamports and UnwrapLamports.
import { TOKEN, World } from "../world.mjs";
import { classic, createAccount, createMint, extended, tokenAccount, transferSol } from "./build.mjs";

const ACCOUNT = 165, MULTISIG = 355;
const IMMUTABLE_ACCOUNT = 165 + 1 + 4; // an extension without a value

export async function token(name, program) {
  const world = await World.create(name);
  const client = program === TOKEN ? classic : extended;
  const at = { programAddress: program };
  const [mint, old, account, account2, account3, multisig, multisig2, authority, freezer, holder, other] = await Promise.all(
    ["mint", "old", "account", "account2", "account3", "multisig", "multisig2", "authority", "freezer", "holder", "other"].map((n) => world.key(n)));

  await world.step("InitializeMint2", createMint(world, mint, { authority: authority.address, freeze: freezer.address, program }));
  await world.step("InitializeMint", [
    createAccount(world, old, 82, program),
    client.getInitializeMintInstruction({ mint: old.address, decimals: 0, mintAuthority: authority.address, freezeAuthority: null }, at),
  ]);
  await world.step("InitializeAccount, InitializeAccount2, InitializeAccount3", [
    ...[account, account2].map((a) => createAccount(world, a, ACCOUNT, program)),
    createAccount(world, account3, program === TOKEN ? ACCOUNT : IMMUTABLE_ACCOUNT, program),
    client.getInitializeAccountInstruction({ account: account.address, mint: mint.address, owner: holder.address }, at),
    client.getInitializeAccount2Instruction({ account: account2.address, mint: mint.address, owner: holder.address }, at),
    client.getInitializeImmutableOwnerInstruction({ account: account3.address }, at),
    client.getInitializeAccount3Instruction({ account: account3.address, mint: mint.address, owner: other.address }, at),
  ]);
  await world.step("MintTo, MintToChecked", [
    client.getMintToInstruction({ mint: mint.address, token: account.address, mintAuthority: authority, amount: 1_000_000n }, at),
    client.getMintToCheckedInstruction({ mint: mint.address, token: account2.address, mintAuthority: authority, amount: 500_000n, decimals: 6 }, at),
  ]);
  await world.step("Transfer, TransferChecked", [
    client.getTransferInstruction({ source: account.address, destination: account2.address, authority: holder, amount: 10n }, at),
    client.getTransferCheckedInstruction({ source: account.address, mint: mint.address, destination: account3.address, authority: holder, amount: 20n, decimals: 6 }, at),
  ]);
  await world.step("Approve, ApproveChecked, Burn by a delegate, Revoke", [
    client.getApproveInstruction({ source: account.address, delegate: other.address, owner: holder, amount: 100n }, at),
    client.getBurnInstruction({ account: account.address, mint: mint.address, authority: other, amount: 30n }, at),
    client.getApproveCheckedInstruction({ source: account.address, mint: mint.address, delegate: other.address, owner: holder, amount: 5n, decimals: 6 }, at),
    client.getRevokeInstruction({ source: account.address, owner: holder }, at),
  ]);
  await world.step("BurnChecked", [client.getBurnCheckedInstruction({ account: account2.address, mint: mint.address, authority: holder, amount: 400_010n, decimals: 6 }, at)]);
  await world.step("FreezeAccount", [client.getFreezeAccountInstruction({ account: account3.address, mint: mint.address, owner: freezer }, at)]);
  await world.step("ThawAccount", [client.getThawAccountInstruction({ account: account3.address, mint: mint.address, owner: freezer }, at)]);
  await world.step("reads", [
    client.getGetAccountDataSizeInstruction({ mint: mint.address }, at), client.getAmountToUiAmountInstruction({ mint: mint.address, amount: 5n }, at),
    client.getUiAmountToAmountInstruction({ mint: mint.address, uiAmount: "1.5" }, at),
  ]);
  const { AccountOwner, CloseAccount, FreezeAccount, MintTokens } = client.AuthorityType;
  const set = (owned, owner, authorityType, newAuthority, multiSigners) =>
    client.getSetAuthorityInstruction({ owned, owner, authorityType, newAuthority, multiSigners }, at);
  await world.step("SetAuthority of a token account", [
    set(account2.address, holder, CloseAccount, other.address), set(account2.address, holder, AccountOwner, other.address),
  ]);
  await world.step("SetAuthority of a mint", [
    set(mint.address, authority, MintTokens, other.address), set(mint.address, freezer, FreezeAccount, null),
  ]);

  await world.step("InitializeMultisig, InitializeMultisig2", [
    createAccount(world, multisig, MULTISIG, program), createAccount(world, multisig2, MULTISIG, program),
    client.getInitializeMultisigInstruction({ multisig: multisig.address, m: 2, signers: [holder.address, other.address, freezer.address] }, at),
    client.getInitializeMultisig2Instruction({ multisig: multisig2.address, m: 1, signers: [holder.address] }, at),
  ]);
  await world.step("a multisig mints", [
    set(mint.address, other, MintTokens, multisig.address),
    client.getMintToInstruction({ mint: mint.address, token: account.address, mintAuthority: multisig.address, amount: 77n, multiSigners: [holder, freezer] }, at),
  ]);
  await world.step("a multisig gives up the mint authority", [set(mint.address, multisig.address, MintTokens, null, [holder, other])]);
  await world.step("MintTo without authority fails", [
    client.getMintToInstruction({ mint: mint.address, token: account.address, mintAuthority: authority, amount: 1n }, at),
  ], { fails: true });

  await world.step("WithdrawExcessLamports of a mint, its multisig and an account", [
    ...[old, multisig2, account3].map((a) => transferSol(world.payer, a.address, 1_000_000n)),
    client.getWithdrawExcessLamportsInstruction({ source: old.address, destination: holder.address, authority }, at),
    client.getWithdrawExcessLamportsInstruction({ source: multisig2.address, destination: holder.address, authority: multisig2.address, multiSigners: [holder] }, at),
    client.getWithdrawExcessLamportsInstruction({ source: account3.address, destination: holder.address, authority: other }, at),
  ]);
  await world.step("WithdrawExcessLamports of a mint without authority", [
    set(old.address, authority, MintTokens, null), transferSol(world.payer, old.address, 5n),
    client.getWithdrawExcessLamportsInstruction({ source: old.address, destination: holder.address, authority: old }, at),
  ]);
  await inOne(world, client, at, program, { authority, holder, other });
  await wrapped(world, client, at, program, holder);
  await world.step("CloseAccount of a token account", [
    client.getBurnInstruction({ account: account.address, mint: mint.address, authority: holder, amount: 1_000_000n + 77n - 60n }, at),
    client.getCloseAccountInstruction({ account: account.address, destination: holder.address, owner: holder }, at),
  ]);
  return world;
}

// inOne: a mint's whole life in one Batch, and parts of other kinds between.
async function inOne(world, client, at, program, { authority, holder, other }) {
  const mint = await world.key("batched");
  const [ata, create] = await tokenAccount(world, holder.address, mint.address, program);
  const [ata2, create2] = await tokenAccount(world, other.address, mint.address, program);
  const { MintTokens } = client.AuthorityType;
  await world.step("Batch: InitializeMint2, SetAuthority", [
    createAccount(world, mint, 82, program),
    client.getBatchInstruction([
      client.getInitializeMint2Instruction({ mint: mint.address, decimals: 2, mintAuthority: authority.address, freezeAuthority: authority.address }, at),
      client.getSetAuthorityInstruction({ owned: mint.address, owner: authority, authorityType: client.AuthorityType.FreezeAccount, newAuthority: other.address }, at),
    ], at),
    create, create2,
  ]);
  await world.step("Batch: MintTo, Transfer, MintToChecked, Burn, BurnChecked, FreezeAccount, ThawAccount, SetAuthority", [
    client.getBatchInstruction([
      client.getMintToInstruction({ mint: mint.address, token: ata, mintAuthority: authority, amount: 100n }, at),
      client.getTransferInstruction({ source: ata, destination: ata2, authority: holder, amount: 40n }, at),
      client.getMintToCheckedInstruction({ mint: mint.address, token: ata2, mintAuthority: authority, amount: 1n, decimals: 2 }, at),
      client.getBurnInstruction({ account: ata, mint: mint.address, authority: holder, amount: 7n }, at),
      client.getBurnCheckedInstruction({ account: ata2, mint: mint.address, authority: other, amount: 8n, decimals: 2 }, at),
      client.getFreezeAccountInstruction({ account: ata, mint: mint.address, owner: other }, at),
      client.getThawAccountInstruction({ account: ata, mint: mint.address, owner: other }, at),
      client.getSetAuthorityInstruction({ owned: mint.address, owner: authority, authorityType: MintTokens, newAuthority: null }, at),
    ], at),
  ]);
}

// wrapped: the native mint, whose tokens are lamports and whose supply is never counted.
async function wrapped(world, client, at, program, holder) {
  const native = program === TOKEN ? "So11111111111111111111111111111111111111112" : "9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP";
  if (program === TOKEN) {
    const state = new Uint8Array(82);
    state[44] = 9; // decimals
    state[45] = 1; // initialised
    world.put(native, program, state);
  } else {
    world.remove(native);
    await world.step("CreateNativeMint", [extended.getCreateNativeMintInstruction({ payer: world.payer, nativeMint: native })]);
  }
  const [ata, create] = await tokenAccount(world, holder.address, native, program);
  await world.step("wrap: SyncNative", [create, transferSol(world.payer, ata, 3_000_000n), client.getSyncNativeInstruction({ account: ata }, at)]);
  await world.step("UnwrapLamports", [
    client.getUnwrapLamportsInstruction({ source: ata, destination: holder.address, authority: holder, amount: 1_000_000n }, at),
  ]);
  await world.step("unwrap: CloseAccount", [client.getCloseAccountInstruction({ account: ata, destination: holder.address, owner: holder }, at)]);
}
