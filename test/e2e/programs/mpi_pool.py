"""A pool of MPI ranks that serve one, as mpi4py.futures has it: under `python3 -m mpi4py.futures`."""

from mpi4py.futures import MPIPoolExecutor


def is_prime(number):
    return number > 1 and all(number % divisor for divisor in range(2, int(number ** 0.5) + 1))


if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        print(sum(pool.map(is_prime, range(1000), chunksize=50)), "primes")
