// Instructions of the published clients, with less to write.
import { getCreateAccountInstruction, getTransferSolInstruction } from "@solana-program/system";
import * as classic from "@solana-program/token";
import * as extended from "@solana-program/token-2022";
import { TOKEN, TOKEN_2022, World } from "../world.mjs";

export { classic, extended };

// Lengths of the values of fixed-size extensions, by name.
const LENGTHS = {
  transferFeeConfig: 108, mintCloseAuthority: 32, confidentialTransferMint: 65, defaultAccountState: 1, nonTransferable: 0, interestBearing: 52,
  permanentDelegate: 32, transferHook: 64, confidentialTransferFee: 129, metadataPointer: 64, groupPointer: 64, groupMemberPointer: 64,
  confidentialMintBurn: 196, scaledUiAmount: 56, pausable: 33, permissionedBurn: 32,
};

// mintSpace is the length of a Token-2022 mint with the named extensions.
export function mintSpace(names) {
  if (names.length === 0) return 82;
  const length = 166 + names.reduce((sum, name) => sum + 4 + LENGTHS[name], 0);
  return length === 355 ? length + 2 : length; // 355 is a multisig's length, which the program keeps free
}

// Enough for what interfaces add to a mint later.
const SPARE = 100_000_000n;

export function createAccount(world, account, space, program) {
  return getCreateAccountInstruction({ payer: world.payer, newAccount: account, lamports: world.rent(space) + (program === TOKEN_2022 ? SPARE : 0n), space, programAddress: program });
}

export const transferSol = (source, destination, amount) => getTransferSolInstruction({ source, destination, amount });

// createMint allocates a mint, runs what must come before its initialisation, and initialises it.
export function createMint(world, mint, { extensions = {}, decimals = 6, authority, freeze = null, program = TOKEN_2022 }) {
  const client = program === TOKEN ? classic : extended;
  return [
    createAccount(world, mint, mintSpace(Object.keys(extensions)), program),
    ...Object.values(extensions),
    client.getInitializeMint2Instruction({ mint: mint.address, decimals, mintAuthority: authority, freezeAuthority: freeze }),
  ];
}

// tokenAccount is an associated token account and the instruction that makes it.
export async function tokenAccount(world, owner, mint, program = TOKEN_2022) {
  const [ata] = await classic.findAssociatedTokenPda({ owner, mint, tokenProgram: program });
  world.names[ata] = `token account of ${world.names[owner]}`;
  return [ata, classic.getCreateAssociatedTokenIdempotentInstruction({ payer: world.payer, ata, owner, mint, tokenProgram: program })];
}

// begin is a world with the signers that most scenarios use.
export async function begin(name) {
  const world = await World.create(name);
  const [mint, authority, other, holder] = await Promise.all(["mint", "authority", "other", "holder"].map((n) => world.key(n)));
  return { world, mint, authority, other, holder };
}
