from .. import reader
from ..batch import batch
