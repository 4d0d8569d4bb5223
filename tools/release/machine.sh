# A part of test.sh: a machine of its own. It has this one's files under an overlay that is gone
# afterwards, systemd as its process 1, and no network but its own loopback. What is installed,
# enabled or removed there changes nothing here.
#
# shellcheck shell=bash disable=SC2154 # test.sh sets work

machine= machine_group=

# machine_start starts it. It fails, and says why, where a machine of its own cannot be: that takes
# root, namespaces, an overlay, a control group and systemd.
machine_start() {
  local tool groups=/sys/fs/cgroup
  for tool in unshare nsenter pivot_root /lib/systemd/systemd systemd-analyze; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; return 1; }
  done
  [ "$(id -u)" = 0 ] || { echo "it takes root"; return 1; }
  # Its systemd makes control groups of its own below this one.
  [ -e "$groups/cgroup.controllers" ] || groups=$groups/unified
  mkdir "$groups/mintlake-test-release-$$" 2>"$work/machine.log" || { cat "$work/machine.log"; return 1; }
  machine_group=$groups/mintlake-test-release-$$
  mkdir "$work/machine"
  (
    echo "$BASHPID" >"$machine_group/cgroup.procs"
    exec setsid unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child bash -euc "$(declare -f machine_boot); machine_boot '$work/machine'"
  ) >"$work/machine.log" 2>&1 </dev/null &
  machine=$!
  for _ in $(seq 60); do
    case $(inside systemctl is-system-running 2>/dev/null) in running | degraded) return ;; esac
    kill -0 "$machine" 2>/dev/null || break
    sleep 1
  done
  tail -n 3 "$work/machine.log"
  return 1
}

# machine_boot runs in the new namespaces, and becomes systemd. basic.target starts no service that
# this machine happens to have.
machine_boot() {
  mount -t tmpfs tmpfs "$1"
  mkdir "$1/upper" "$1/work" "$1/root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
  cd "$1/root"
  # The kernel is that of this machine: its variables are not to be set.
  mount -t proc proc proc
  mount --bind proc/sys proc/sys
  mount -o remount,bind,ro proc/sys
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mount -t tmpfs tmpfs run
  mount -t tmpfs tmpfs tmp
  mount -t tmpfs tmpfs dev
  local device
  for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  mkdir dev/shm dev/pts
  mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  # What the machine is given: a package, say.
  mkdir run/given
  mount --bind "${1%/*}/given" run/given
  mkdir run/outside
  pivot_root . run/outside
  umount -l run/outside
  exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target --show-status=no
}

# inside runs a command in the machine.
inside() {
  local init
  init=$(cat "/proc/$machine/task/$machine/children" 2>/dev/null)
  [ -n "$init" ] || return 1
  nsenter --target "${init%% *}" --all --wdns=/ env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

machine_stop() {
  if [ -n "$machine" ]; then
    kill -KILL "$machine" 2>/dev/null || true # and with it process 1, and with that all the others
    wait "$machine" 2>/dev/null || true
    machine=
  fi
  [ -n "$machine_group" ] || return 0
  for _ in $(seq 50); do
    find "$machine_group" -depth -type d -exec rmdir {} + 2>/dev/null && break
    sleep 0.1
  done
  machine_group=
}
