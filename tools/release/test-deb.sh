# A part of test.sh: the Debian package by the commands of docs/install.md in a machine of its own:
# installed, served, upgraded, removed, purged. Then the service without the package.
#
# shellcheck shell=bash disable=SC2154 # test.sh sets work with given, where the archive is unpacked, arch and VERSION

# again makes a package anew under another version.
again() { # again DEB VERSION NEW
  dpkg-deb -R "$1" "$work/again"
  sed -i "s/^Version: .*/Version: $2/" "$work/again/DEBIAN/control"
  dpkg-deb --root-owner-group -Znone --build "$work/again" "$3" >/dev/null
  rm -rf "$work/again"
}

# run runs commands of a page in the machine, in a folder of it.
run() { # run FOLDER COMMANDS
  [ -n "$2" ] || exit 1 # commands has said why
  inside bash -euo pipefail -c "cd $1; $2" >"$work/page.log" 2>&1 || fail "commands of docs/install.md failed: $2: $(tail -n 5 "$work/page.log")"
}

# library puts libchdb where `mintlake deps` would download it to.
library() {
  local cache
  cache=$(tools/deps/libchdb.sh)
  inside mkdir -p /var/cache/mintlake
  tar -C "${cache%/libchdb/*}" -c libchdb | inside tar -C /var/cache/mintlake --no-same-owner -x
}

# serves waits until the service's registry has a token, and prints its mint.
serves() {
  local mint
  for _ in $(seq 180); do
    mint=$(inside curl -fsS 'http://127.0.0.1:8080/tokens?limit=1' 2>/dev/null | sed -n 's/.*"mint":"\([^"]*\)".*/\1/p') || true
    [ -z "$mint" ] || { echo "$mint"; return; }
    inside systemctl is-active --quiet mintlake || break
    sleep 1
  done
  fail "the service serves no token: $(inside journalctl -u mintlake -n 5 --no-pager)"
}

# knows says that the registry has a token.
knows() { # knows MINT
  serves >/dev/null
  grep -qF "\"mint\":\"$1\"" <<<"$(inside curl -fsS "http://127.0.0.1:8080/tokens/$1")" || fail "the registry does not have $1, which it had before"
}

# ours lists what the machine has of the package, its data left out.
ours() {
  inside sh -c 'find /etc /usr/bin /usr/lib /usr/share /lib/systemd /var -xdev -path "*mintlake*" ! -path "/var/lib/mintlake*" ! -path "/var/lib/dpkg/*" ! -path "/var/log/*" 2>/dev/null | sort'
}

test_deb() { # test_deb DEB
  local deb=$1 before mint pid told file mode lines
  before=$(ours)
  [ -z "$before" ] || fail "this machine has Mintlake installed already: $before"
  mkdir "$work/given/next"
  cp "$deb" "$work/given/"
  # As dpkg orders them, the version after the one under test.
  again "$deb" "$(dpkg-deb -f "$deb" Version)+next" "$work/given/next/mintlake_next_$arch.deb"
  # Who sits at the machine is root, edits nothing, and says yes.
  inside sh -c 'printf "#!/bin/sh\nexec env \"\$@\"\n" >/usr/local/bin/sudo
    printf "#!/bin/sh\n" >/usr/local/bin/sudoedit
    chmod 755 /usr/local/bin/sudo /usr/local/bin/sudoedit
    echo "APT::Get::Assume-Yes true;" >/etc/apt/apt.conf.d/99yes'
  library

  # Installed and started.
  run /run/given "$(commands "The Debian package" 1 "$arch")"
  told=$(inside getent passwd mintlake) || fail "there is no user mintlake"
  [[ $told == *:/var/lib/mintlake:/usr/sbin/nologin ]] || fail "the user is $told"
  for file in "640 root:mintlake /etc/mintlake/mintlake.env" "750 root:mintlake /etc/mintlake" "755 root:root /usr/bin/mintlake" \
    "644 root:root /lib/systemd/system/mintlake.service" "644 root:root /usr/share/mintlake/clickhouse/analyst.sql" "750 mintlake:mintlake /var/lib/mintlake"; do
    mode=$(inside stat -L -c '%a %U:%G %n' "${file##* }")
    [ "$mode" = "$file" ] || fail "it should be $file, it is $mode"
  done
  for file in copyright install.md changelog.gz; do inside test -s "/usr/share/doc/mintlake/$file" || fail "the package lacks $file"; done
  grep -q "^mintlake $VERSION (commit " <<<"$(inside mintlake version)" || fail "the binary tells another version"
  told=$(inside systemd-analyze verify mintlake.service 2>&1) || fail "systemd-analyze verify: $told"
  ! grep mintlake <<<"$told" || fail "systemd-analyze verify: $told"
  mint=$(serves)
  [ "$(inside systemctl show mintlake -P User)" = mintlake ] || fail "the service runs as another user"
  told=$(inside systemd-analyze security --threshold=30 mintlake 2>&1) || fail "systemd-analyze security: $(tail -n 1 <<<"$told")"

  # Upgraded: settings and data stay, and the service goes on with the new binary.
  inside sh -c 'echo "MINTLAKE_LOG_LEVEL=debug" >>/etc/mintlake/mintlake.env'
  pid=$(inside systemctl show mintlake -P MainPID)
  run /run/given/next "apt-get install ./mintlake_*_$arch.deb"
  [ "$(inside dpkg-query --show --showformat='${Version}' mintlake)" = "$(dpkg-deb -f "$deb" Version)+next" ] || fail "the upgrade installed another version"
  [ "$(inside tail -n 1 /etc/mintlake/mintlake.env)" = MINTLAKE_LOG_LEVEL=debug ] || fail "the upgrade took away a setting"
  told=$(inside systemctl show mintlake -P MainPID)
  [ "$told" != 0 ] && [ "$told" != "$pid" ] || fail "the upgrade did not restart the service: process $pid, then $told"
  knows "$mint"

  # Removed: settings and data stay. Purged: data alone stays. The page has three commands.
  mapfile -t lines < <(commands "The Debian package" 3 "$arch")
  [ "${#lines[@]}" = 3 ] || fail "docs/install.md removes the package by ${#lines[@]} commands"
  run / "${lines[0]}"
  ! inside pgrep -u mintlake >/dev/null || fail "the service goes on after the package was removed"
  ! inside systemctl cat mintlake >/dev/null 2>&1 || fail "systemd knows the service after the package was removed"
  told=$(ours | grep -v '^/var/cache/mintlake' | tr '\n' ' ')
  [ "$told" = "/etc/mintlake /etc/mintlake/mintlake.env " ] || fail "a package that was removed should leave its settings, it leaves $told"
  inside test -d /var/lib/mintlake/clickhouse || fail "data is gone with the package"
  run / "${lines[1]}"
  told=$(ours)
  [ -z "$told" ] || fail "a package that was purged leaves $told"
  inside test -d /var/lib/mintlake/clickhouse || fail "data was purged"
  echo "test-release: the package installs, serves, upgrades and goes, by the commands of docs/install.md under systemd"

  # Without the package, over the data that is there.
  library
  run "/run/given/mintlake_${VERSION}_linux_$arch" "$(commands "The Debian package" 4 "$arch")"
  inside systemctl enable --now --quiet mintlake
  knows "$mint"
  told=$(inside systemd-analyze verify mintlake.service 2>&1) || fail "systemd-analyze verify: $told"
  inside systemctl disable --now --quiet mintlake
  run / "${lines[2]}"
  ! inside test -e /var/lib/mintlake || fail "data stays after all"
  echo "test-release: the archive's service serves what the package's left"
}
