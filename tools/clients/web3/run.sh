#!/usr/bin/env bash
# Solana's own clients, as their documentation uses them: @solana/web3.js 1.x and its successor @solana/kit.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$("$here/../../npm.sh" "$here" "$MINTLAKE_CLIENTS_CACHE/web3")
cp "$here"/*.mjs "$packages/" # modules are looked for beside the script
for script in web3 kit swap version1 stream; do
  echo "$script"
  node "$packages/$script.mjs"
done

# The first swap of docs/demo-chain.md, as it is written but for the addresses.
echo page
{
  echo 'import { patient } from "./check.mjs"; globalThis.fetch = patient;'
  sed -n '/^```js$/,/^```$/p' "$here/../../../docs/demo-chain.md" | grep -v '^```' | sed "s#http://127.0.0.1:8899#$MINTLAKE_RPC#; s#http://127.0.0.1:8081#$MINTLAKE_SWAP#"
  echo 'const { value } = await connection.getSignatureStatus(signature); if (value?.err !== null) throw new Error(JSON.stringify(value)); process.exit(0);'
} >"$packages/page.mjs"
for attempt in 1 2 3; do
  node "$packages/page.mjs" 2>stderr && break
  cat stderr >&2
  # Others may move the price by more than the slippage before it lands. Then the venue's program refuses it.
  [[ $attempt -lt 3 ]] && grep -qE 'custom program error|"Custom":' stderr || exit 1
done
