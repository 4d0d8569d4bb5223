package parse

// systemShapes are the instructions of the system program that bring lamports into accounts, by
// their type. They are read because wrapped SOL is made of such lamports. Field names are those of
// agave's transaction-status/src/parse_system.rs, layouts those of solana-system-interface's
// instruction.rs.
var systemShapes = map[string]shape{
	"createAccount": sh(on("source", "newAccount"), "", raw(0, 0, 0, 0), number("lamports", 8), number("space", 8), key("owner", false)),
	"transfer":      sh(on("source", "destination"), "", raw(2, 0, 0, 0), number("lamports", 8)),
	"createAccountWithSeed": sh(on("source", "newAccount"), "", raw(3, 0, 0, 0), key("base", false), seed("seed"), number("lamports", 8),
		number("space", 8), key("owner", false)),
	"transferWithSeed": sh(on("source", "sourceBase", "destination"), "", raw(11, 0, 0, 0), number("lamports", 8)),
}

// associatedShapes are the instructions of the associated-token program, by their type. Field names
// are those of agave's transaction-status/src/parse_associated_token.rs.
var associatedShapes = map[string]shape{
	"create":           sh(on("source", "account", "wallet", "mint", "systemProgram", "tokenProgram"), "", raw(0)),
	"createIdempotent": sh(on("source", "account", "wallet", "mint", "systemProgram", "tokenProgram"), "", raw(1)),
	"recoverNested":    sh(nil, "", raw(2)),
}
