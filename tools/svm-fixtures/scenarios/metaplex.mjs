// Metaplex Token Metadata, whose program LiteSVM has not: it is given as a file.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { AccountRole, getBase58Decoder } from "@solana/kit";
import { bytes, TOKEN, World } from "../world.mjs";
import { classic, createMint, tokenAccount } from "./build.mjs";

const require = createRequire(import.meta.url);
const m = require("@metaplex-foundation/mpl-token-metadata");
const { ed25519 } = require("@noble/curves/ed25519");
export const METAPLEX = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s";

function offCurve(hash) {
  try {
    ed25519.ExtendedPoint.fromHex(hash);
    return false;
  } catch {
    return true;
  }
}

// findPda is what the client asks its context for.
function findPda(program, seeds) {
  for (let bump = 255; ; bump--) {
    const hash = createHash("sha256");
    for (const seed of [...seeds, Uint8Array.of(bump), bytes(program), Buffer.from("ProgramDerivedAddress")]) hash.update(seed);
    const digest = hash.digest();
    if (offCurve(digest)) return [getBase58Decoder().decode(digest), bump];
  }
}

const pda = (mint, ...more) => findPda(METAPLEX, [Buffer.from("metadata"), bytes(METAPLEX), bytes(mint), ...more.map((s) => Buffer.from(s))])[0];

// of runs a client's function and gives kit's instructions.
function of(world, client, input) {
  const signer = (s) => ({ publicKey: s.address, signMessage: null, signTransaction: null, signAllTransactions: null });
  const context = { payer: signer(world.payer), identity: signer(world.payer), programs: { getPublicKey: (_, address) => address }, eddsa: { findPda } };
  const given = Object.fromEntries(Object.entries(input).map(([k, v]) => [k, v?.signTransactions ? signer(v) : v]));
  return client(context, given).getInstructions().map((i) => ({
    programAddress: i.programId, data: i.data,
    accounts: i.keys.map((k) => ({ address: k.pubkey, role: k.isSigner ? (k.isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER) : k.isWritable ? AccountRole.WRITABLE : AccountRole.READONLY })),
  }));
}

const some = (value) => ({ __option: "Some", value });
const none = { __option: "None" };

export async function metaplex(program) {
  const world = await World.create("metaplex");
  world.addProgram(METAPLEX, program);
  const [authority, other, holder] = await Promise.all(["authority", "other", "holder"].map((n) => world.key(n)));
  for (const k of [authority, other, holder]) world.fund(k.address, 10_000_000_000n);
  const run = (client, input) => of(world, client, input);
  await fungible(world, run, { authority, other, holder });
  await unified(world, run, { authority, other, holder });
  await nonFungible(world, run, { authority, other, holder });
  await delegates(world, run, { authority, other, holder });
  await editions(world, run, { authority, holder });
  await burned(world, run, { authority, holder });
  return world;
}

// fungible: the instructions that most tokens were made with.
async function fungible(world, run, { authority, other, holder }) {
  const mint = await world.key("mint");
  const metadata = pda(mint.address);
  world.names[metadata] = "metadata";
  const creators = [{ address: authority.address, verified: true, share: 60 }, { address: other.address, verified: false, share: 40 }];
  const data = { name: "Probe  ", symbol: "PRB", uri: "https://example.com/a.json", sellerFeeBasisPoints: 250, creators: some(creators), collection: none, uses: none };
  const [ata, create] = await tokenAccount(world, holder.address, mint.address, TOKEN);
  await world.step("CreateMetadataAccountV3", [
    ...createMint(world, mint, { authority: authority.address, program: TOKEN }),
    ...run(m.createMetadataAccountV3, { metadata, mint: mint.address, mintAuthority: authority, payer: world.payer, updateAuthority: authority, data, isMutable: true, collectionDetails: none }),
    create,
    classic.getMintToInstruction({ mint: mint.address, token: ata, mintAuthority: authority, amount: 1_000n }),
  ]);
  await world.step("SignMetadata", run(m.signMetadata, { metadata, creator: other }));
  await world.step("RemoveCreatorVerification", run(m.removeCreatorVerification, { metadata, creator: authority }));
  await world.step("UpdateMetadataAccountV2 of the creators", run(m.updateMetadataAccountV2, {
    metadata, updateAuthority: authority, data: some({ ...data, creators: some([{ address: other.address, verified: true, share: 100 }]) }),
    newUpdateAuthority: none, primarySaleHappened: none, isMutable: none,
  }));
  await world.step("RemoveCreatorVerification of the last", run(m.removeCreatorVerification, { metadata, creator: other }));
  const collection = some({ verified: false, key: world.address("collection") });
  await world.step("UpdateMetadataAccountV2 of the data", run(m.updateMetadataAccountV2, {
    metadata, updateAuthority: authority,
    data: some({ ...data, name: "Änderung", symbol: "", uri: "", sellerFeeBasisPoints: 10_000, creators: none, collection }), newUpdateAuthority: none, primarySaleHappened: none, isMutable: none,
  }));
  await world.step("UpdatePrimarySaleHappenedViaToken", run(m.updatePrimarySaleHappenedViaToken, { metadata, owner: holder, token: ata }));
  await world.step("PuffMetadata", run(m.puffMetadata, { metadata }));
  await world.step("SetTokenStandard", run(m.setTokenStandard, { metadata, updateAuthority: authority, mint: mint.address }));
  await world.step("UpdateMetadataAccountV2 of the rest", run(m.updateMetadataAccountV2, {
    metadata, updateAuthority: authority, data: none, newUpdateAuthority: some(other.address), primarySaleHappened: none, isMutable: some(false),
  }));
  await world.step("UpdateMetadataAccountV2 of nothing", run(m.updateMetadataAccountV2, {
    metadata, updateAuthority: other, data: none, newUpdateAuthority: none, primarySaleHappened: none, isMutable: none,
  }));
}

// unified: Create, Mint, Update and Burn of a fungible token.
async function unified(world, run, { authority, other, holder }) {
  const mint = await world.key("unified");
  const metadata = pda(mint.address), asset = { metadata, mint: mint.address };
  world.names[metadata] = "unified metadata";
  const [token] = await classic.findAssociatedTokenPda({ owner: holder.address, mint: mint.address, tokenProgram: TOKEN });
  world.names[token] = "unified token account";
  await world.step("CreateV1 of a fungible token, its mint too", run(m.createV1, {
    metadata, mint, authority, updateAuthority: authority, splTokenProgram: TOKEN, name: "Unified", symbol: "UNI", uri: "u", sellerFeeBasisPoints: { basisPoints: 500n, identifier: "%", decimals: 2 },
    tokenStandard: m.TokenStandard.Fungible, decimals: some(4), primarySaleHappened: true,
    creators: some([{ address: authority.address, verified: true, share: 100 }]),
  }));
  await world.step("MintV1", run(m.mintV1, { ...asset, authority, token, tokenOwner: holder.address, amount: 5_000, tokenStandard: m.TokenStandard.Fungible }));
  await world.step("UnverifyCreatorV1 of the first", run(m.unverifyCreatorV1, { metadata, authority }));
  const data = { name: "Unified 2", symbol: "UN2", uri: "u2", sellerFeeBasisPoints: 1, creators: none };
  await world.step("UpdateV1", run(m.updateV1, { ...asset, authority, data: some(data), primarySaleHappened: none, isMutable: none, newUpdateAuthority: none, collection: m.collectionToggle("Set", [{ verified: false, key: other.address }]) }));
  await world.step("VerifyCreatorV1", [
    ...run(m.updateV1, { ...asset, authority, data: some({ ...data, creators: some([{ address: other.address, verified: false, share: 100 }]) }) }),
    ...run(m.verifyCreatorV1, { metadata, authority: other }),
  ]);
  await world.step("UnverifyCreatorV1", run(m.unverifyCreatorV1, { metadata, authority: other }));
  await world.step("UpdateV1: collection cleared, immutable, another authority", run(m.updateV1, { ...asset, authority, isMutable: some(false), newUpdateAuthority: some(other.address), collection: m.collectionToggle("Clear") }));
  await world.step("BurnV1", run(m.burnV1, { ...asset, authority: holder, token, tokenOwner: holder.address, amount: 1_000, tokenStandard: m.TokenStandard.Fungible }));
}

// nonFungible: a collection, an item of it, a programmable item: not in the registry, but known to
// be what they are.
async function nonFungible(world, run, { authority, other, holder }) {
  const [collection, item, programmable, old] = await Promise.all(["collection mint", "item", "programmable", "old item"].map((n) => world.key(n)));
  const parts = (mint) => ({ metadata: pda(mint.address), masterEdition: pda(mint.address, "edition"), mint });
  for (const k of [collection, item, programmable, old]) {
    world.names[pda(k.address)] = `${world.names[k.address]} metadata`;
    world.names[pda(k.address, "edition")] = `${world.names[k.address]} edition`;
  }
  const asset = { authority, updateAuthority: authority, splTokenProgram: TOKEN, symbol: "N", uri: "n", sellerFeeBasisPoints: { basisPoints: 0n, identifier: "%", decimals: 2 }, printSupply: some(m.printSupply("Zero")) };
  const one = async (mint, tokenStandard) => {
    const [token] = await classic.findAssociatedTokenPda({ owner: holder.address, mint: mint.address, tokenProgram: TOKEN });
    return run(m.mintV1, { metadata: pda(mint.address), masterEdition: pda(mint.address, "edition"), mint: mint.address, authority, token, tokenOwner: holder.address, amount: 1, tokenStandard });
  };
  await world.step("CreateV1 and MintV1 of a collection", [
    ...run(m.createV1, { ...asset, ...parts(collection), name: "Collection", tokenStandard: m.TokenStandard.NonFungible, collectionDetails: some(m.collectionDetails("V1", { size: 0 })) }),
    ...await one(collection, m.TokenStandard.NonFungible),
  ]);
  await world.step("CreateV1 and MintV1 of an item", [
    ...run(m.createV1, { ...asset, ...parts(item), name: "Item", tokenStandard: m.TokenStandard.NonFungible, collection: some({ verified: false, key: collection.address }) }),
    ...await one(item, m.TokenStandard.NonFungible),
  ]);
  const collected = { metadata: pda(item.address), authority, collectionMint: collection.address, collectionMetadata: pda(collection.address) };
  await world.step("VerifyCollectionV1", run(m.verifyCollectionV1, { ...collected, collectionMasterEdition: pda(collection.address, "edition") }));
  await world.step("UnverifyCollectionV1", run(m.unverifyCollectionV1, collected));
  await world.step("CreateV1 of a programmable item", run(m.createV1, { ...asset, ...parts(programmable), name: "Programmable", tokenStandard: m.TokenStandard.ProgrammableNonFungible }));
  const [ata, create] = await tokenAccount(world, holder.address, old.address, TOKEN);
  const mint = await createMint(world, old, { authority: authority.address, freeze: authority.address, decimals: 0, program: TOKEN });
  await world.step("CreateMetadataAccountV3, CreateMasterEditionV3", [
    ...mint, create, classic.getMintToInstruction({ mint: old.address, token: ata, mintAuthority: authority, amount: 1n }),
    ...run(m.createMetadataAccountV3, { metadata: pda(old.address), mint: old.address, mintAuthority: authority, payer: world.payer, updateAuthority: authority, data: { name: "Old", symbol: "O", uri: "o", sellerFeeBasisPoints: 0, creators: none, collection: none, uses: none }, isMutable: true, collectionDetails: none }),
    ...run(m.createMasterEditionV3, { edition: pda(old.address, "edition"), metadata: pda(old.address), mint: old.address, updateAuthority: authority, mintAuthority: authority, payer: world.payer, maxSupply: some(0) }),
  ]);
  const setOf = { metadata: pda(old.address), collectionAuthority: authority, payer: world.payer, updateAuthority: authority.address, collectionMint: collection.address, collection: pda(collection.address), collectionMasterEditionAccount: pda(collection.address, "edition") };
  await world.step("SetAndVerifySizedCollectionItem", run(m.setAndVerifySizedCollectionItem, setOf));
  await world.step("UnverifySizedCollectionItem", run(m.unverifySizedCollectionItem, setOf));
  await world.step("VerifySizedCollectionItem", run(m.verifySizedCollectionItem, setOf));
}

// delegates: updates by others than the update authority.
async function delegates(world, run, { authority, other, holder }) {
  const mint = await world.key("delegated");
  const metadata = pda(mint.address), asset = { metadata, mint: mint.address };
  world.names[metadata] = "delegated metadata";
  await world.step("CreateV1 of a delegated token", run(m.createV1, {
    metadata, mint, authority, updateAuthority: authority, splTokenProgram: TOKEN, name: "Delegated", symbol: "DLG", uri: "d", sellerFeeBasisPoints: { basisPoints: 100n, identifier: "%", decimals: 2 },
    tokenStandard: m.TokenStandard.Fungible, decimals: some(2),
  }));
  const given = { ...asset, delegate: other.address, authority, tokenStandard: m.TokenStandard.Fungible };
  const record = (delegateRole) => m.findMetadataDelegateRecordPda({ eddsa: { findPda }, programs: { getPublicKey: (_, a) => a } }, { mint: mint.address, delegateRole, updateAuthority: authority.address, delegate: other.address })[0];
  const role = m.MetadataDelegateRole;
  const creators = some([{ address: authority.address, verified: true, share: 100 }]);
  const cases = [
    ["Data", m.delegateDataV1, m.updateAsDataDelegateV2, role.Data, { data: some({ name: "By a delegate", symbol: "BYD", uri: "b", sellerFeeBasisPoints: 7, creators }) }],
    ["DataItem", m.delegateDataItemV1, m.updateAsDataItemDelegateV2, role.DataItem, { data: some({ name: "By another", symbol: "BYA", uri: "a", sellerFeeBasisPoints: 8, creators }) }],
    ["Collection", m.delegateCollectionV1, m.updateAsCollectionDelegateV2, role.Collection, { collection: m.collectionToggle("Set", [{ verified: false, key: other.address }]) }],
    ["CollectionItem", m.delegateCollectionItemV1, m.updateAsCollectionItemDelegateV2, role.CollectionItem, { collection: m.collectionToggle("Clear") }],
    ["AuthorityItem", m.delegateAuthorityItemV1, m.updateAsAuthorityItemDelegateV2, role.AuthorityItem, { primarySaleHappened: some(true), isMutable: none, newUpdateAuthority: none }],
  ];
  for (const [name, delegate, update, delegateRole, args] of cases) {
    await world.step(`Delegate${name}V1, UpdateAs${name}DelegateV2`, [
      ...run(delegate, given), ...run(update, { ...asset, authority: other, delegateRecord: record(delegateRole), ...args }),
    ]);
  }
  await world.step("UpdateAsUpdateAuthorityV2", run(m.updateAsUpdateAuthorityV2, { ...asset, authority, data: none, isMutable: some(false), primarySaleHappened: none, newUpdateAuthority: some(other.address), tokenStandard: none }));
}

// editions: a print of a master edition.
async function editions(world, run, { authority, holder }) {
  const [master, print] = await Promise.all(["master", "print"].map((n) => world.key(n)));
  for (const k of [master, print]) {
    world.names[pda(k.address)] = `${world.names[k.address]} metadata`;
    world.names[pda(k.address, "edition")] = `${world.names[k.address]} edition`;
  }
  const single = async (key) => {
    const [token, create] = await tokenAccount(world, holder.address, key.address, TOKEN);
    return [token, [
      ...await createMint(world, key, { authority: authority.address, freeze: authority.address, decimals: 0, program: TOKEN }),
      create, classic.getMintToInstruction({ mint: key.address, token, mintAuthority: authority, amount: 1n }),
    ]];
  };
  const [owned, first] = await single(master);
  await world.step("CreateMetadataAccountV3, CreateMasterEditionV3 of a master", [
    ...first,
    ...run(m.createMetadataAccountV3, { metadata: pda(master.address), mint: master.address, mintAuthority: authority, payer: world.payer, updateAuthority: authority, data: { name: "Master", symbol: "M", uri: "m", sellerFeeBasisPoints: 5, creators: none, collection: none, uses: none }, isMutable: true, collectionDetails: none }),
    ...run(m.createMasterEditionV3, { edition: pda(master.address, "edition"), metadata: pda(master.address), mint: master.address, updateAuthority: authority, mintAuthority: authority, payer: world.payer, maxSupply: some(10) }),
  ]);
  const [, second] = await single(print);
  await world.step("MintNewEditionFromMasterEditionViaToken", [
    ...second,
    ...run(m.mintNewEditionFromMasterEditionViaToken, {
      newMetadata: pda(print.address), newEdition: pda(print.address, "edition"), masterEdition: pda(master.address, "edition"), newMint: print.address, editionMarkPda: pda(master.address, "edition", "0"),
      newMintAuthority: authority, payer: world.payer, tokenAccountOwner: holder, tokenAccount: owned, newMetadataUpdateAuthority: authority.address, metadata: pda(master.address),
      mintNewEditionFromMasterEditionViaTokenArgs: { edition: 1 },
    }),
  ]);
}

// burned: a non-fungible token that its holder burns, which leaves a mint without supply and
// without metadata.
async function burned(world, run, { authority, holder }) {
  const mint = await world.key("burned");
  const asset = { metadata: pda(mint.address), mint: mint.address, tokenStandard: m.TokenStandard.NonFungible };
  const edition = pda(mint.address, "edition");
  world.names[asset.metadata] = "burned metadata";
  world.names[edition] = "burned edition";
  const [token] = await classic.findAssociatedTokenPda({ owner: holder.address, mint: mint.address, tokenProgram: TOKEN });
  await world.step("CreateV1 and MintV1 of what is burned", [
    ...run(m.createV1, {
      ...asset, mint, masterEdition: edition, authority, updateAuthority: authority, splTokenProgram: TOKEN, name: "Burned", symbol: "B", uri: "b",
      sellerFeeBasisPoints: { basisPoints: 0n, identifier: "%", decimals: 2 }, printSupply: some(m.printSupply("Zero")),
    }),
    ...run(m.mintV1, { ...asset, masterEdition: edition, authority, token, tokenOwner: holder.address, amount: 1 }),
  ]);
  await world.step("BurnV1 of the only one", run(m.burnV1, { ...asset, edition, authority: holder, token, tokenOwner: holder.address, amount: 1 }));
}
