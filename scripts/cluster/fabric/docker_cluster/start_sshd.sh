#!/bin/sh
# The ssh server of a node of the demo clusters; what follows goes to sshd. Keys come from the volume of a Secret, whose
# directory and files have owners and modes that sshd and ssh do not trust: the users get copies. Every node makes a host key
# of its own, and what the image has in its environment for Python is there in ssh sessions, too.
set -eu
keys=${SSH_KEYS:-/run/ssh-keys}
[ -s "$keys/authorized_keys" ] || { echo "start_sshd.sh: there is no $keys/authorized_keys: mount the Secret with the keys there" >&2; exit 4; }
for user in root tutorial; do
  home=$(getent passwd "$user" | cut -d : -f 6) || continue
  [ -n "$home" ] || continue
  install -d -m 700 -o "$user" "$home/.ssh"
  for key in "$keys"/*; do install -m 600 -o "$user" "$key" "$home/.ssh/"; done
done
ssh-keygen -A >/dev/null
mkdir -p /run/sshd
exec /usr/sbin/sshd -D -e -oPasswordAuthentication=no -oSetEnv="PYTHONPATH=${PYTHONPATH:-}" "$@"
