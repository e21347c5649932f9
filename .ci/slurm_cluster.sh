#!/usr/bin/env bash
# Three Slurm nodes on this machine's loopback (root, Debian), for the tests marked slurm and perf/executors.py.
#
#   .ci/slurm_cluster.sh start FOLDER    prints the path of the slurm.conf to name in SLURM_CONF
#   .ci/slurm_cluster.sh stop FOLDER     ends what start began, by the process ids in FOLDER/pids
#
# The nodes n1, n2, n3 claim CPUs, memory and GPUs that are not there: generic resources whose devices are harmless
# devices, to test where trials are placed. No accounting. Ends with an error where Slurm cannot be had.
set -euo pipefail
ulimit -c 0  # a daemon that aborts would leave its memory in this folder
what="${1:?start or stop}" at="${2:?a folder}"
mkdir -p "$at" && at="$(cd "$at" && pwd)"

# Jobs first: what a killed runner or a failed test left would work on without their daemons.
end_jobs() {
  export SLURM_CONF="$at/slurm.conf"
  timeout 10 scancel --quiet --user="$(id -un)" 2>/dev/null || return 0
  for _ in $(seq 30); do [ -n "$(timeout 10 squeue -h 2>/dev/null)" ] || return 0; sleep 0.5; done
}
stop() {
  [ -f "$at/pids" ] || return 0
  end_jobs
  while read -r pid; do kill "$pid" 2>/dev/null || true; done <"$at/pids"
  for _ in $(seq 50); do
    alive=0
    while read -r pid; do kill -0 "$pid" 2>/dev/null && alive=1; done <"$at/pids"
    [ "$alive" = 0 ] && break
    sleep 0.1
  done
  while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done <"$at/pids"
  rm -f "$at/pids"
}
if [ "$what" = stop ]; then stop; exit 0; fi

[ "$(id -u)" = 0 ] || { echo "Slurm's daemons need root here" >&2; exit 1; }
if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y -qq slurm-wlm munge >/dev/null
fi
stop
rm -rf "$at/state" "$at"/spool-*
mkdir -p "$at/state" "$at/log" "$at/munge"
chown -R munge:munge "$at/munge" && chmod 700 "$at/munge"
key="$at/munge/key" socket="$at/munge.socket"
[ -s "$key" ] || { head -c 128 /dev/urandom >"$key"; chown munge:munge "$key"; chmod 400 "$key"; }
# Debian's munged runs as munge; here as root, with --force, since the folder is not owned by a system account.
munged --force --foreground --key-file="$key" --socket="$socket" --pid-file="$at/munged.pid" \
  --log-file="$at/log/munged.log" --seed-file="$at/munge.seed" >"$at/log/munged.out" 2>&1 </dev/null &
echo $! >"$at/pids"
for _ in $(seq 50); do [ -S "$socket" ] && break; sleep 0.1; done
[ -S "$socket" ] || { cat "$at/log/munged.out" >&2; exit 1; }

host="$(hostname -s)"
free() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
control="$(free)"
for gpu in 0 1; do [ -e "$at/gpu$gpu" ] || mknod "$at/gpu$gpu" c 1 3; done
{
  echo "ClusterName=loopback"
  echo "SlurmctldHost=$host(127.0.0.1)"
  echo "SlurmctldPort=$control"
  echo "SlurmUser=root"
  echo "SlurmdUser=root"
  echo "AuthType=auth/munge"
  echo "AuthInfo=socket=$socket,cred_expire=15"  # a requeued job waits as long
  echo "CredType=cred/munge"
  echo "StateSaveLocation=$at/state"
  echo "SlurmctldPidFile=$at/slurmctld.pid"
  echo "SlurmdPidFile=$at/slurmd-%n.pid"
  echo "SlurmdSpoolDir=$at/spool-%n"
  echo "SlurmctldLogFile=$at/log/slurmctld.log"
  echo "SlurmdLogFile=$at/log/slurmd-%n.log"
  echo "ProctrackType=proctrack/linuxproc"
  echo "TaskPlugin=task/none"
  echo "SlurmdParameters=config_overrides"
  echo "MpiDefault=none"
  echo "SelectType=select/cons_tres"
  echo "SelectTypeParameters=CR_Core_Memory"
  echo "ReturnToService=2"
  echo "SlurmdTimeout=120"  # a node that a busy machine keeps waiting is not lost
  echo "KillWait=5"
  echo "MinJobAge=60"
  echo "SchedulerParameters=sched_min_interval=100000,batch_sched_delay=1,sched_interval=5,defer_batch"
  echo "PreemptType=preempt/partition_prio"
  echo "PreemptMode=REQUEUE"
  echo "AccountingStorageType=accounting_storage/none"
  echo "JobCompType=jobcomp/none"
  echo "JobAcctGatherType=jobacct_gather/none"
  echo "GresTypes=gpu"
  for n in 1 2 3; do
    echo "NodeName=n$n NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free) CPUs=${CPUS_A_NODE:-16} RealMemory=64000 Gres=gpu:2"
  done
  echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1"
  echo "PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10"
} >"$at/slurm.conf"
echo "NodeName=n[1-3] Name=gpu File=$at/gpu[0-1]" >"$at/gres.conf"
export SLURM_CONF="$at/slurm.conf"
slurmctld -D -i >"$at/log/slurmctld.out" 2>&1 </dev/null &
echo $! >>"$at/pids"
for n in 1 2 3; do
  slurmd -D -N "n$n" >"$at/log/slurmd-n$n.out" 2>&1 </dev/null &
  echo $! >>"$at/pids"
  echo $! >"$at/n$n.pid"
done
for _ in $(seq 100); do
  [ "$(sinfo -h -N -t idle 2>/dev/null | awk '{print $1}' | sort -u | wc -l)" = 3 ] && { echo "$SLURM_CONF"; exit 0; }
  sleep 0.2
done
tail -n 20 "$at"/log/*.out "$at"/log/*.log >&2
stop
exit 1
